// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import NIOCore
import NIOPosix
import Schedules
import Subprocess
import Testing
import TimerControl

@testable import TimerD

@Suite("Metrics", .timeLimit(.minutes(2)))
struct MetricsTests {
    // MARK: - Counting

    @Test("Fires are counted by kind, with how late they were; fires by hand without")
    func fires() async throws {
        try await TestScheduler.with { test in
            _ = try await test.add(ScheduleWords(every: "5s"))
            let job = try await test.add(ScheduleWords(every: "1h"), command: ["true"])
            try await test.advance(by: .seconds(15))
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            try await test.settle()
            let fires = await test.scheduler.measures().counters.fires
            #expect(fires.event == 3)
            #expect(fires.command == 1)
            #expect(fires.lateness.count == 3)
            #expect(fires.lateness.counts.first == 3, "virtual timers are never late")
        }
    }

    @Test("A task counts as one: due as its job is added, by its date, or by hand")
    func tasks() async throws {
        try await TestScheduler.with { test in
            for start in ["0s", "5s"] {
                _ = try await test.add(ScheduleWords(in: start)) { $0.queue = "mails" }
            }
            let job = try await test.add(ScheduleWords(every: "1h")) { $0.queue = "mails" }
            try await test.advance(by: .seconds(6))
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            try await test.settle()
            let fires = await test.scheduler.measures().counters.fires
            #expect((fires.task, fires.event, fires.command) == (3, 0, 0))
            #expect(fires.lateness.count == 2, "not of the one by hand")
        }
    }

    @Test("A date that is skipped, as a task of its job is not over, counts as no task")
    func skippedTasks() async throws {
        try await TestScheduler.with { test in
            _ = try await test.add(ScheduleWords(every: "5s")) { $0.queue = "mails" }
            try await test.advance(by: .seconds(16))
            try await test.settle()
            let counters = await test.scheduler.measures().counters
            #expect(counters.fires.task == 1)
            #expect(counters.fires.lateness.count == 1)
            #expect(counters.skipped["overlap"] == 2)
        }
    }

    @Test("A command that waits for a place is counted once it begins, with how long it has waited")
    func waited() async throws {
        var keeping = TestScheduler.Keeping()
        keeping.maxRuns = 1
        try await TestScheduler.with(keeping: keeping) { test in
            test.runner.isHolding = true
            for start in ["1s", "2s"] {
                try await test.add(ScheduleWords(in: start), command: ["true"])
            }
            try await test.advance(by: .seconds(10))
            let before = await test.scheduler.measures().counters.fires
            #expect((before.command, before.lateness.count) == (1, 1))
            test.runner.end()
            try await test.settle()
            let fires = await test.scheduler.measures().counters.fires
            #expect((fires.command, fires.lateness.count) == (2, 2))
            #expect(fires.lateness.sum == 8)
            test.runner.end()
        }
    }

    @Test("Skipped dates are counted by reason, a range by its dates")
    func skipped() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "5s"))
            try await test.change(job.id, .skip(4))
            try await test.settle()
            let counters = await test.scheduler.measures().counters
            #expect(counters.skipped == ["skip": 4])
        }
    }

    @Test(
        "A run is counted by how it ended, and by what its job takes for a success",
        arguments: [
            (RunOutcome.exited(0), "success"), (.exited(3), "success"), (.exited(1), "failure"),
            (.signalled(9), "signalled"), (.timedOut, "timedOut"), (.notStarted("?"), "notStarted"),
            (.interrupted, "interrupted"),
        ]
    )
    func runs(outcome: RunOutcome, word: String) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "5s"), command: ["true"]) {
                $0.successCodes = [0, 3]
            }
            var counters = SchedulerCounters()
            counters.countRun(outcome, of: job, handler: nil)
            #expect(counters.runs == [word: 1])
            counters.countRun(outcome, of: job, handler: .onFailure)
            #expect(counters.runs == [word: 1, "onFailure": 1])
        }
    }

    // MARK: - HTTP

    /// What curl says of an address: the headers and the body.
    private func curl(_ arguments: String...) async throws -> String {
        try await output("curl", ["-sS", "-i", "--max-time", "5"] + arguments)
    }

    private func output(_ program: String, _ arguments: [String]) async throws -> String {
        try await run(
            .name(program),
            arguments: Arguments(arguments),
            output: .string(limit: 1 << 20),
            error: .discarded
        ).standardOutput
    }

    private static let sample = {
        var sample = MetricsReply(
            version: "1",
            startedAt: .distantPast,
            jobs: .init(scheduled: 0, paused: 0, armed: 0, claimed: 0),
            fires: .init(),
            skipped: [:],
            runs: .init(ended: [:], running: 0, waitingForPlace: 0, waiting: 0),
            store: .init(
                writes: 0,
                waiting: 0,
                commits: Histogram(bounds: []),
                isWritable: true,
                size: 0,
                logSize: 0
            ),
            clients: .init(connections: 0, watchers: 0, eventsLost: 0),
            process: .init(residentMemory: 0, processorTime: 0)
        )
        sample.notices = .init(waiting: 0, held: 0, oldestAge: 0)
        sample.tasks = .init(ready: 0, delayed: 0, reserved: 0, dead: 0, oldestAge: 0)
        let node = NodeView(
            name: "a",
            state: .leading,
            version: "1",
            leaseUntil: .distantPast,
            runs: 0
        )
        sample.nodes = [.init(node, at: .distantPast, takesCommands: true)]
        return sample
    }()

    /// An end point of its own on a port that is free; `body` gets its address.
    private func withEndpoint(
        _ body: (ListenAddress, any EventLoopGroup) async throws -> Void
    ) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let address = try #require(ListenAddress("127.0.0.1:0"))
        let endpoint = try await MetricsEndpoint.start(
            at: address,
            on: group.any(),
            logger: Logger(label: "test")
        ) { Self.sample.openMetrics }
        try await body(endpoint.address, group)
        await endpoint.stop()
        try await group.shutdownGracefully()
    }

    @Test("The metrics are at /metrics, in OpenMetrics' content type; nothing else is served")
    func http() async throws {
        try await withEndpoint { address, _ in
            let answer = try await curl("http://\(address)/metrics?a=b")
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(
                answer.contains(
                    "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"
                )
            )
            #expect(answer.hasSuffix("\r\n\r\n" + Self.sample.openMetrics))
            let head = try await curl("--head", "http://\(address)/metrics")
            #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n") && head.hasSuffix("\r\n\r\n"))
            #expect(try await curl("http://\(address)/").hasPrefix("HTTP/1.1 404 "))
            let post = try await curl("-d", "x=1", "http://\(address)/metrics")
            #expect(post.hasPrefix("HTTP/1.1 405 ") && post.contains("Allow: GET, HEAD\r\n"))
        }
    }

    @Test("What is no request, or too long for one, ends its connection and disturbs no other")
    func badRequests() async throws {
        try await withEndpoint { address, _ in
            let long = "X-Long: " + String(repeating: "x", count: 9000)
            _ = try await curl("-H", long, "http://\(address)/metrics")
            let nonsense = try await output(
                "bash",
                ["-c", "exec 3<>/dev/tcp/127.0.0.1/$1; echo nonsense >&3; cat <&3", "-"]
                    + ["\(address.port)"]
            )
            #expect(nonsense.isEmpty || nonsense.hasPrefix("HTTP/1.1 400 "))
            #expect(try await curl("http://\(address)/metrics").hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test("Half requests keep nobody out: the oldest of them is closed for whoever comes next")
    func connections() async throws {
        try await withEndpoint { address, group in
            var idle: [any Channel] = []
            for _ in 0..<40 {
                let channel = try await ClientBootstrap(group: group)
                    .connect(host: address.host.rawValue, port: address.port).get()
                channel.writeAndFlush(ByteBuffer(string: "GET /metrics HT"), promise: nil)
                idle.append(channel)
                if idle.count >= MetricsEndpoint.maxConnections {
                    #expect(try await curl("http://\(address)/metrics").hasPrefix("HTTP/1.1 200"))
                }
            }
            // They are closed by themselves as well.
            for channel in idle { try await channel.closeFuture.get() }
        }
    }

    @Test("Only names that are always this machine's are answered, and no page of another site")
    func origins() async throws {
        try await withEndpoint { address, _ in
            let url = "http://\(address)/metrics"
            let refused: [(String, String)] = [
                ("Host: example.org", "421"), ("Host: evil.localhost:80", "421"),
                ("Host: 127.0.0.1.nip.io:9292", "421"), ("Host:", "400"), ("Host;", "421"),
                ("Origin: http://127.0.0.1:8080", "403"), ("Origin: null", "403"),
                ("Sec-Fetch-Site: cross-site", "403"), ("Sec-Fetch-Site: same-site", "403"),
            ]
            for (field, status) in refused {
                let answer = try await curl("-H", field, url)
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(field): \(answer.prefix(40))")
                #expect(!answer.contains("timerd_"))
            }
            for field in ["Host: localhost", "Host: LOCALHOST:1", "Host: [::1]:9292"] {
                #expect(try await curl("-H", field, url).hasPrefix("HTTP/1.1 200 "), "\(field)")
            }
            let own = try await curl("-H", "Sec-Fetch-Site: same-origin", url)
            #expect(own.hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test("A daemon serves its own numbers, and 'timerctl metrics' prints the same")
    func daemon() async throws {
        try await DaemonProcess.with { daemon in
            _ = await daemon.end(SIGTERM)
            try await daemon.start(["--listen", "127.0.0.1:0"])
            try await daemon.timerctl("add", "--every", "1h", "--name", "hourly")
            try await daemon.timerctl("fire", "--name", "hourly")
            let printed = try await daemon.timerctl("metrics").output
            #expect(printed.contains("\ntimerd_jobs{state=\"scheduled\"} 1\n"))
            #expect(printed.contains("\ntimerd_held_jobs 0\n"))
            #expect(printed.contains("\ntimerd_fires_total{kind=\"event\"} 1\n"))
            #expect(printed.contains("\ntimerd_build_info{version=\"\(timerdVersion)\"} 1\n"))
            #expect(!printed.contains("hourly"), "no names")
            let size = try #require(printed.firstMatch(of: /database_size_bytes (\d+)\n/)).output.1
            #expect(Int(size) ?? 0 >= 4096)
            let address = try #require(daemon.log.firstMatch(of: /listen=(\S+)/)).output.1
            let served = try await curl("http://\(address)/metrics")
            #expect(served.contains("\ntimerd_fires_total{kind=\"event\"} 1\n"))
            let json = try await daemon.timerctl("metrics", "--json").output
            #expect(json.contains(#""scheduled":1"#))
        }
    }

    @Test("Who has the port does not keep jobs from running")
    func portTaken() async throws {
        try await withEndpoint { address, _ in
            try await DaemonProcess.with { daemon in
                _ = await daemon.end(SIGTERM)
                try await daemon.start(["--listen", "\(address)"])
                let jobs = try await daemon.timerctl("metrics").output
                #expect(jobs.contains("\ntimerd_jobs{state=\"scheduled\"} 0\n"))
                #expect(
                    daemon.log.contains(
                        "no metrics are served: cannot listen at '\(address)': "
                            + "cannot bind to it: address already in use; ignoring"
                    )
                )
            }
        }
    }

    // MARK: - The document

    @Test("docs/metrics.md tells of exactly what is emitted, in its order")
    func document() throws {
        let rows = Self.sample.families.map { family in
            let labels = family.label.map { label in
                let isOpen = ["version", "node"].contains(label.name)
                let values = label.values.map { "`\($0)`" }.joined(separator: " ")
                return "`\(label.name)`" + (isOpen ? "" : ": \(values)")
            }
            return "| `\(family.sampleName)` | \(family.kind.rawValue) | "
                + (family.kind == .histogram ? "" : labels ?? "") + " | \(family.help) |"
        }
        let told = try Repository.text(of: "docs/metrics.md").split(separator: "\n")
            .filter { $0.hasPrefix("| `timerd_") }.map(String.init)
        #expect(told == rows)
    }

    @Test(
        "The alerts and the dashboard ask for what is emitted, with labels that it has",
        arguments: ["packaging/prometheus/timerd-alerts.yml", "packaging/grafana/timerd.json"]
    )
    func files(path: String) throws {
        var labels: [String: (name: String, values: [String])?] = [:]
        for family in Self.sample.families {
            let suffixes = family.kind == .histogram ? ["_bucket", "_count", "_sum"] : [""]
            for suffix in suffixes { labels[family.sampleName + suffix] = family.label }
        }
        let text = try Repository.text(of: path).replacing("\\\"", with: "\"")
        let asked = text.matches(of: #/\b(timerd_[a-z_]+)(\{[^}]*\})?/#)
        #expect(asked.count >= 6)
        for match in asked {
            let name = String(match.1)
            guard let label = labels[name] else {
                Issue.record("\(path) asks for \(name)")
                continue
            }
            for stated in (match.2 ?? "").matches(of: #/(\w+)=~?"([^"]*)"/#)
            where stated.1 != "instance" {
                #expect(stated.1 == label?.name ?? "", "\(name)")
                for value in stated.2.split(separator: "|") {
                    #expect(label?.values.contains(String(value)) == true, "\(name), \(value)")
                }
            }
        }
    }
}

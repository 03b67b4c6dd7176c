// SPDX-License-Identifier: Apache-2.0

import JobModel
import LinuxSystem
import Locks
import Logging
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("The page of metrics of a node", .timeLimit(.minutes(2)))
struct NodeMetricsTests {
    private func standby(ready: Bool?, isWritable: Bool = true) -> StandbyMetrics {
        StandbyMetrics(
            node: "beta",
            version: "1.2.3",
            startedAt: Timestamp(microseconds: 1_700_000_000_500_000),
            process: .init(residentMemory: 4096, processorTime: 0.5),
            isWritable: isWritable,
            runnerIsReady: ready
        )
    }

    /// The lines without what they mean.
    private func samples(_ text: String) -> [String] {
        text.split(separator: "\n").filter { $0.first != "#" }.map(String.init)
    }

    @Test("One that stands by tells of itself alone, by the names that all daemons have")
    func standingBy() {
        let text = standby(ready: true).openMetrics
        #expect(
            samples(text) == [
                #"timerd_build_info{version="1.2.3"} 1"#, "timerd_start_time_seconds 1700000000.5",
                "timerd_resident_memory_bytes 4096", "timerd_cpu_seconds_total 0.5",
                "timerd_runner_ready 1", "timerd_database_writable 1",
                #"timerd_node_leads{node="beta"} 0"#,
            ]
        )
        #expect(text.hasSuffix("# EOF\n"))
        let trouble = samples(standby(ready: nil, isWritable: false).openMetrics)
        #expect(trouble.contains("timerd_database_writable 0"))
        #expect(!trouble.contains { $0.hasPrefix("timerd_runner_ready") })
    }

    @Test("It changes with the lead, and is served all the while at one address")
    func follows() async throws {
        try await TestScheduler.with { test in
            let takesPart = Locked(false)
            let metrics = NodeMetrics(node: "beta", started: SystemClock.read().sinceBoot) {
                takesPart.withLock { $0 }
            }
            var started = StartedParts()
            let log = RecordedLog()
            await metrics.serve(at: "127.0.0.1:0", &started, log.logger)
            let address = try #require(log.all.first?.split(separator: "=").last)
            func page() async throws -> [String] {
                try await samples(Shell()("curl -sS --max-time 5 http://\(address)/metrics").output)
            }
            #expect(try await page().contains("timerd_database_writable 0"))
            takesPart.withLock { $0 = true }
            #expect(try await page().contains(#"timerd_node_leads{node="beta"} 0"#))
            #expect(try await page().contains("timerd_database_writable 1"))
            let status = StatusReport(
                databaseShown: "x",
                socket: "/x",
                nodeName: "beta",
                started: .distantPast,
                leadsSince: .distantPast,
                clock: test.clock,
                scheduler: test.scheduler,
                store: test.store,
                watchers: { 0 },
                newestEvent: { 0 },
                lastReload: { nil },
                nodes: nil
            )
            let report = MetricsReport(status: status, database: "/x", eventsLost: { 0 })
            metrics.lead(report)
            #expect(try await page().contains("timerd_armed_timers 0"))
            metrics.standBy(with: nil)
            #expect(try await !page().contains { $0.hasPrefix("timerd_armed_timers") })
            try await started.stop()
        }
    }

    @Test("A port that is taken is said, and ends nothing")
    func taken() async throws {
        let log = RecordedLog()
        let metrics = NodeMetrics(node: "beta", started: SystemClock.read().sinceBoot) { true }
        var first = StartedParts()
        await metrics.serve(at: "127.0.0.1:0", &first, log.logger)
        let address = try #require(log.all.first?.split(separator: "=").last)
        var second = StartedParts()
        await metrics.serve(at: String(address), &second, log.logger)
        let words = try #require(log.all.last)
        #expect(words.hasPrefix("no metrics are served: ") && words.contains("\(address)"))
        try await second.stop()
        try await first.stop()
    }
}

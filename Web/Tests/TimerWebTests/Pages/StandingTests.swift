// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import Testing
import TimerControl
import TimerWords

@testable import TimerWeb

/// What a job's page says of how it stands: what is overdue, what runs, what it waits for.
@Suite(
    .enabled(if: TestDaemon.program != nil, "build the main package first, or set TIMERD_PROGRAMS")
)
struct StandingTests {
    /// Returns once so many runs have begun; the client has subscribed.
    private static func awaitRuns(_ count: Int, _ client: ControlClient) async throws {
        var begun = 0
        for try await event in client.events where event.type == .runStarted {
            begun += 1
            if begun == count { break }
        }
    }

    @Test("A date that has come and has not fired is told on its job's page and on the first one")
    func overdue() async throws {
        let daemon = try await TestDaemon()
        // Both dates have passed by then, and the job's `until`.
        let visit = daemon.visit(now: .now + .seconds(800 * 86_400))
        try await daemon.connected { client in
            var yearly = JobDefinition(schedule: ScheduleWords(cron: "0 0 1 1 *"))
            yearly.command = ["true"]
            yearly.until = (Timestamp.now + .seconds(400 * 86_400)).rfc3339
            let command = try await client.addJob(yearly).job.id
            let event = try await client.addJob(JobDefinition(schedule: ScheduleWords(in: "1h")))
                .job.id
            var status = try await client.status()
            status.trouble = "no room"
            let session = Session(client: client, status: status)
            let page = text(try await JobPage(command, visit, session).page.content)
            #expect(page.contains("has not fired: the database takes no writes: no room. "))
            #expect(!page.contains("When the machine starts."))
            // It fires all the same, and is stored later.
            let stored = text(try await JobPage(event, visit, session).page.content)
            #expect(stored.contains("as it was last stored: the database takes no writes"))
            #expect(!stored.contains("overdue"))
            let now = text(try await NowPage(visit, session).page.content)
            #expect(now.contains("The database takes no writes: no room."))
            #expect(now.contains("<b>1</b> late"))
            let well = text(try await NowPage(visit, Session(client)).page.content)
            #expect(!well.contains("takes no writes") && well.contains("<b>2</b> late"))
        }
    }

    @Test(
        "What runs is on its job's page, however many dates were dropped since; End says how many it ends",
        .timeLimit(.minutes(3))
    )
    func running() async throws {
        let daemon = try await TestDaemon()
        let id = try await daemon.connected { client in
            var job = JobDefinition(schedule: ScheduleWords(every: "1h"))
            (job.command, job.overlap) = (["sleep", "600"], .allow)
            try await client.subscribe()
            let id = try await client.addJob(job).job.id
            for _ in 0..<2 { _ = try await client.fireJob(.id(id)) }
            try await Self.awaitRuns(2, client)
            for _ in 0...JobHistory.bars {
                _ = try await client.skipJobs(SkipJobs(jobs: .ids([id])))
            }
            return id
        }
        try await TestServer.run(socket: daemon.socket) { server in
            let page = try await server.get("/jobs/\(id)").body
            #expect(page.ranges(of: "aria-label=\"Kill run ").count == 2)
            #expect(page.contains("href=\"/runs?job=\(id)&amp;open=1\""))
            let question = try await server.get("/jobs/\(id)/end").body
            #expect(question.contains("also end all 2 runs in progress, the first of which began"))
            // Somebody has ended the job since.
            _ = try await server.follow("/jobs/\(id)/end")
            let killed = try await server.follow("/jobs/\(id)/end", "kill=1").body
            #expect(killed.contains("had ended already. What of it was running is told to end."))
        }
    }

    @Test(
        "Dates ahead that were dropped are none to come, and hide nothing that has run",
        .timeLimit(.minutes(3))
    )
    func dropped() async throws {
        let daemon = try await TestDaemon()
        let (id, dates) = try await daemon.connected { client in
            var job = JobDefinition(schedule: ScheduleWords(cron: "0 0 1 1 *", tz: "UTC"))
            job.command = ["false"]
            try await client.subscribe()
            let added = try await client.addJob(job).job
            try await client.fireJob(.id(added.id))
            for try await event in client.events where event.type == .runFinished { break }
            var dates = [try #require(added.fireDate)]
            // More than any page looks at.
            for _ in 0..<101 {
                let skipped = try await client.skipJobs(SkipJobs(jobs: .ids([added.id])))
                dates.append(try #require(skipped.jobs.first?.fireDate))
            }
            // Back on the first of them the others stay dropped.
            _ = try await client.setFireDate(of: .id(added.id), to: dates[0].rfc3339)
            return (added.id, dates)
        }
        try await TestServer.run(socket: daemon.socket) { server in
            let page = try await server.get("/jobs/\(id)").body
            let history = try #require(page.firstRange(of: "id=\"h-hist\"")).lowerBound
            #expect(page[history...].contains("href=\"/runs/1\""))
            // The nearest of those that were dropped are among what is shown.
            #expect(page[history...].contains("datetime=\"\(dates[1].rfc3339)\""))
            let form = try await server.get("/jobs/\(id)/change").body
            for text in [page[..<history], form[...]] {
                for (index, date) in dates.enumerated() {
                    let isToCome = index == 0 || index == dates.count - 1
                    #expect(text.contains("datetime=\"\(date.rfc3339)\"") == isToCome)
                }
            }
            // In an order of our own each job's last date is asked for, else the daemon tells it.
            for address in ["/jobs?sort=name", "/jobs"] {
                #expect(try await server.get(address).body.contains("class=\"state failed\""))
            }
            #expect(try await server.get("/doctor").body.contains("some failed"))
        }
    }

    @Test(
        "Of many fires that wait a job's page looks at some, and it has what runs behind them",
        .timeLimit(.minutes(3))
    )
    func manyWaiting() async throws {
        let daemon = try await TestDaemon()
        let id = try await daemon.connected { client in
            var job = JobDefinition(schedule: ScheduleWords(every: "1h"))
            (job.command, job.overlap) = (["sleep", "600"], .allow)
            try await client.subscribe()
            let id = try await client.addJob(job).job.id
            try await withThrowingDiscardingTaskGroup { group in
                for _ in 0..<1200 {
                    group.addTask { _ = try await client.fireJob(.id(id)) }
                }
            }
            try await Self.awaitRuns(10, client)
            return id
        }
        try await TestServer.run(socket: daemon.socket) { server in
            let page = try await server.get("/jobs/\(id)").body
            #expect(page.contains(" and more wait"))
            #expect(page.ranges(of: "aria-label=\"Kill run ").count >= 10)
        }
    }

    @Test("What runs of a job is known though more runs of its owner than a page holds")
    func behindOthers() {
        let now = Timestamp.now
        func run(_ job: Int64, _ state: Run.State) -> Run {
            Run(job: JobID(rawValue: job), fire: FireID(rawValue: 9), state: state, fireDate: now)
        }
        let (job, own) = (JobID(rawValue: 1), run(1, .running))
        let others = [run(2, .running), run(3, .running)]
        let open = [run(1, .waiting), own]
        #expect(OpenRuns.running(of: job, others, open: open, isAll: true) == [own])
        #expect(OpenRuns.running(of: job, others + [own], open: [open[0]], isAll: false) == [own])
    }

    @Test("Why a task waits is on its job's page, which then goes by the events of all jobs")
    func waiting() async throws {
        let daemon = try await TestDaemon()
        let id = try await daemon.connected { client in
            var queue = SetQueue(queue: "mails")
            queue.paused = true
            _ = try await client.setQueue(queue)
            var task = JobDefinition(schedule: ScheduleWords(every: "1h"))
            task.queue = "mails"
            let id = try await client.addJob(task).job.id
            _ = try await client.fireJob(.id(id))
            return id
        }
        try await TestServer.run(socket: daemon.socket) { server in
            let page = try await server.get("/jobs/\(id)").body
            #expect(page.contains("A fire of it waits: queue 'mails' is paused;"))
            #expect(page.contains("data-on=\"all\""))
        }
    }

    @Test(
        "Attempts at one date are no dates, and what an end has kept from being tried is told",
        .timeLimit(.minutes(3))
    )
    func attempts() async throws {
        let daemon = try await TestDaemon()
        let (tried, ended) = try await daemon.connected { client in
            var job = JobDefinition(schedule: ScheduleWords(in: "1ms"))
            (job.command, job.retries, job.backoff) = (["false"], 2, "1ms")
            try await client.subscribe()
            let tried = try await client.addJob(job).job.id
            job.backoff = "1h..2h"
            let ended = try await client.addJob(job).job.id
            var count = 0
            for try await event in client.events where event.type == .runFinished {
                count += 1
                if count == 4 { break }
            }
            _ = try await client.invalidateJobs(.ids([ended]))
            return (tried, ended)
        }
        try await TestServer.run(socket: daemon.socket) { server in
            let page = try await server.get("/jobs/\(tried)").body
            #expect(page.contains("its one date; a run takes"))
            #expect(page.contains("How long the runs of the last 1 date took"))
            #expect(!page.contains("Not tried again"))
            let other = try await server.get("/jobs/\(ended)").body
            #expect(other.contains("Not tried again, as its job was ended."))
        }
    }

    @Test("A job's definition has the daemon's defaults, and the limits that have no effect")
    func defaults() async throws {
        let daemon = try await TestDaemon()
        let visit = daemon.visit()
        try await daemon.connected { client in
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            (definition.command, definition.retries) = (["true"], 5)
            (definition.killAfter, definition.memoryMax) = ("9s", "1G")
            (definition.keepRuns, definition.key, definition.keyKept) = (500, "k", "2d")
            let job = try await client.addJob(definition).job
            var status = try await client.status()
            func facts() -> String {
                text(JobFacts(job: job, status: status, parts: Parts(visit)).section)
            }
            status.defaults = nil
            #expect(facts().contains("tried again up to 5 times, after up to 1s..1h<"))
            #expect(facts().contains("SIGTERM, then SIGKILL 9s later"))
            #expect(facts().contains("k, kept for 2d after its end"))
            status.defaults = [
                "backoff": .string("1s..2s"), "retries": .integer(2), "timeout": .string("20s"),
                "onFailure": .array([.string("tell"), .string("ann")]),
            ]
            status.controlGroups = .init(perRun: false, controllers: [], lack: nil)
            status.maxRunsKept = 100
            for words in [
                "tried again up to 5 times, after up to 1s..2s (the daemon's default)",
                "20s (the daemon's default): SIGTERM, then SIGKILL 9s later",
                "tell ann (the daemon's default)", "--memory-max but for the address space",
                "500 runs, at most 100 are kept here",
            ] {
                let shown = words.replacing("'", with: "&#39;")
                #expect(facts().contains(words) || facts().contains(shown), "\(words)")
            }
        }
    }

    @Test("A move to a date that the clock leaves out says what it becomes")
    func gap() async throws {
        let daemon = try await TestDaemon()
        let id = try await daemon.connected { client in
            try await client.addJob(JobDefinition(schedule: ScheduleWords(in: "1h"))).job.id
        }
        let zone = try Zone(named: "Europe/Berlin")
        try await TestServer.run(socket: daemon.socket, zone: zone) { server in
            let gap = try await server.follow("/jobs/\(id)/move", "to=2125-03-25+02:30")
            #expect(gap.body.contains("does not exist in Europe/Berlin; it becomes"))
            let day = try await server.follow("/jobs/\(id)/move", "to=2125-03-25+04:30")
            #expect(!day.body.contains("does not exist"))
        }
    }

    @Test("A row of a list has the beginning of a long command")
    func longCommands() async throws {
        let daemon = try await TestDaemon()
        try await daemon.connected { client in
            var job = JobDefinition(schedule: ScheduleWords(every: "1h"))
            job.command = ["/bin/sh", "-c", String(repeating: "x", count: 50_000)]
            _ = try await client.addJobs(Array(repeating: job, count: 3))
        }
        try await TestServer.run(socket: daemon.socket) { server in
            let list = try await server.get("/jobs?sort=name").body
            #expect(list.utf8.count < 50_000)
            #expect(list.contains("/bin/sh -c xxxxx") && list.contains("xxx…</bdi>"))
        }
    }
}

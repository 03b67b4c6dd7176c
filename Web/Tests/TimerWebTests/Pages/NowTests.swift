// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import Testing
import TimerControl
import TimerWords

@testable import TimerWeb

/// What the first page says of what runs, waits, is late and comes.
@Suite(
    .enabled(if: TestDaemon.program != nil, "build the main package first, or set TIMERD_PROGRAMS")
)
struct NowTests {
    /// Has a command run, and then as many others fail that are tried again in an hour.
    private func fail(_ count: Int, _ daemon: TestDaemon) async throws {
        try await daemon.connected { client in
            var long = JobDefinition(schedule: ScheduleWords(in: "1ms"))
            (long.name, long.command) = ("the oldest", ["sleep", "600"])
            var failing = JobDefinition(schedule: ScheduleWords(in: "1ms"))
            failing.command = ["false"]
            (failing.retries, failing.backoff) = (5, "1h..2h")
            try await client.subscribe()
            _ = try await client.addJob(long)
            var ended = 0
            for try await event in client.events {
                if event.type == .runStarted, event.name == "the oldest" {
                    _ = try await client.addJobs(Array(repeating: failing, count: count))
                }
                if event.type == .runFinished { ended += 1 }
                if ended == count { return }
            }
            throw CancellationError()
        }
    }

    @Test(
        "What runs is shown and counted beside any number of younger fires that wait",
        .timeLimit(.minutes(3))
    )
    func running() async throws {
        let daemon = try await TestDaemon()
        try await fail(60, daemon)
        try await TestServer.run(socket: daemon.socket) { server in
            let body = try await server.get("/").body
            #expect(body.contains("the oldest"))
            #expect(body.contains("<b>1</b> running") && body.contains("<b>60</b> waiting"))
            #expect(body.contains("1, and 60 wait"))
            #expect(body.ranges(of: "exit 1, waits for its next attempt").count == 50)
            #expect(body.contains("The newest 50 of each are shown."))
            #expect(body.contains("href=\"/runs?open=1\""))
        }
        let parts = Parts(daemon.visit())
        try await daemon.connected { client in
            // Another user's command runs too, by what status counts: one's own is one all the same.
            var status = try await client.status()
            (status.running, status.nextFireDate) = (2, nil)
            let session = Session(client: client, status: status)
            let own = text(try await OpenRuns(session, .now).part(parts))
            #expect(own.contains("the oldest") && own.contains("1, and 60 wait"))
        }
    }

    @Test("Where more jobs are late than are looked at, their number is said to be no whole one")
    func late() async throws {
        let daemon = try await TestDaemon()
        let visit = daemon.visit(now: .now + .seconds(7200))
        try await daemon.connected { client in
            let job = JobDefinition(schedule: ScheduleWords(in: "1h"))
            _ = try await client.addJobs(Array(repeating: job, count: 60))
            let now = text(try await NowPage(visit, Session(client)).page.content)
            #expect(now.contains("<b>50 and more</b> late"))
            #expect(!now.contains("Add one"))
        }
    }

    @Test(
        "A job whose date is in the last hour that there is has its pages, wherever they are read",
        arguments: ["Europe/Berlin", "Pacific/Kiritimati"]
    )
    func lastHour(_ name: String) async throws {
        let daemon = try await TestDaemon()
        let id = try await daemon.connected { client in
            let last = JobDefinition(schedule: ScheduleWords(at: "9999-12-31T23:30:00Z"))
            return try await client.addJob(last).job.id
        }
        try await TestServer.run(socket: daemon.socket, zone: try Zone(named: name)) { server in
            for path in ["/", "/jobs", "/jobs/\(id)", "/jobs/\(id)/change"] {
                let reply = try await server.get(path)
                #expect(reply.status == 200, "\(path)")
                if !path.hasSuffix("change") {
                    #expect(reply.body.contains("Fri 31 Dec 9999, 23:30 UTC"), "\(path)")
                }
            }
        }
    }

    @Test("Of many users in maintenance some are named, oneself first, the rest are counted")
    func manyInMaintenance() async throws {
        let daemon = try await TestDaemon()
        let visit = daemon.visit()
        try await daemon.connected { client in
            var status = try await client.status()
            let users = (1...7).map { "user \($0)" } + [visit.site.user]
            status.maintenance = users.map {
                StatusReply.Maintenance(owner: $0, since: .now)
            }
            let session = Session(client: client, status: status)
            let now = text(try await NowPage(visit, session).page.content)
            #expect(now.contains("You</bdi> are in maintenance"))
            #expect(now.contains("user 4</bdi> is in maintenance") && !now.contains("user 5<"))
            #expect(now.contains("3 other users are in maintenance"))
        }
    }

    @Test("A maintenance is told at the top, and a job is offered to be added where there is none")
    func maintenance() async throws {
        let daemon = try await TestDaemon()
        try await TestServer.run(socket: daemon.socket) { server in
            let empty = try await server.get("/").body
            #expect(empty.contains("No job has a date to come.") && empty.contains("Add one"))
            #expect(!empty.contains("in maintenance"))
            try await daemon.connected { client in
                _ = try await client.addJob(JobDefinition(schedule: ScheduleWords(every: "1h")))
                _ = try await client.call(.beginMaintenance(nil), as: JobsReply.self)
            }
            let paused = try await server.get("/").body
            #expect(paused.contains("You</bdi> are in maintenance: your jobs are paused until"))
            #expect(paused.contains("<code>timerctl maintenance off</code>"))
            #expect(paused.contains("No job has a date to come."))
            #expect(!paused.contains("Add one"))
        }
    }
}

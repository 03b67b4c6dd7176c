// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerWeb

/// Addresses that ask for what there is not.
@Suite(
    .enabled(if: TestDaemon.program != nil, "build the main package first, or set TIMERD_PROGRAMS")
)
struct FilterTests {
    private static let addresses: [(path: String, words: String)] = [
        ("/jobs?state=bogus", "'bogus' is no state; it is one of live, scheduled, paused"),
        ("/jobs?sort=bogus", "'bogus' is no order; it is one of next, -next, name"),
        ("/jobs?tag=a&tag=b", "'tag' is said 2 times: a, b; one is accepted"),
        ("/jobs?cursor=garbage", "No page of the list begins at 'garbage'"),
        ("/jobs?q=shown&cursor=-1", "No page of the list begins at '-1'"),
        (
            "/jobs?q=" + String(repeating: "a", count: 1025),
            "'q' has 1025 bytes; at most 1024 are accepted"
        ),
        ("/runs?outcome=bogus", "'bogus' is no outcome; it is one of success, failure"),
        ("/runs?job=abc", "'job' is 'abc', expected a job's number"),
        ("/runs?tag=a&tag=b", "'tag' is said 2 times"),
        ("/runs?cursor=garbage", "No page of the list begins at 'garbage'"),
        ("/queues/shown-queue?state=bogus", "'bogus' is no state; it is one of ready, delayed"),
        ("/queues/shown-queue?cursor=x", "No page of the list begins at 'x'"),
        ("/runs?failed=0", "'failed' is '0', expected 1"),
        ("/runs?open=yes", "'open' is 'yes', expected 1"),
        ("/runs?open=1&failed=1", "'open' and 'failed' are said; one of them is accepted"),
        ("/runs/1?stream=bogus", "'bogus' is no stream; it is one of stdout, stderr"),
        ("/runs/1/output.txt?stream=bogus", "'bogus' is no stream; it is one of stdout, stderr"),
        ("/queues?owner=a&owner=b", "'owner' is said 2 times: a, b; one is accepted"),
        ("/calendar?date=2026-13-01", "'date' is '2026-13-01', expected a day"),
        ("/calendar?view=year", "'year' is no view; it is one of day, week, month"),
        ("/calendar?owner=a&owner=b", "'owner' is said 2 times"),
    ]

    @Test("What an address says that means nothing is told, and nothing is shown for it")
    func unknown() async throws {
        let daemon = try await TestDaemon()
        try await daemon.connected { client in
            var definition = JobDefinition(schedule: ScheduleWords(in: "1ms"))
            (definition.name, definition.queue) = ("shown-task", "shown-queue")
            _ = try await client.addJob(definition)
            definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            (definition.name, definition.command) = ("shown-job", ["true"])
            let job = try await client.addJob(definition).job
            try await client.fireJob(.id(job.id))
        }
        try await TestServer.run(socket: daemon.socket) { server in
            for (path, words) in Self.addresses {
                let reply = try await server.get(path)
                let body = reply.body
                #expect(reply.status == 400, "\(path)")
                let text = body.replacing("&#39;", with: "'")
                #expect(text.contains(words), "\(path)")
                for row in ["class=\"list\"", "class=\"heat", "name=\"id\"", "name=\"fire\""] {
                    #expect(!body.contains(row), "\(path): \(row)")
                }
            }
            for path in ["/jobs?state=live", "/jobs?tag=&q=shown", "/runs?job=2&outcome="] {
                let body = try await server.get(path).body
                #expect(body.contains("shown-job"), "\(path)")
                #expect(!body.contains("class=\"conflict\""), "\(path)")
            }
            let nobodys = try await server.get("/queues?owner=nobodyx").body
            #expect(nobodys.contains("There is no queue of") && nobodys.contains("nobodyx"))
            // Nor is anything done with it.
            let asked = try await server.follow(
                "/jobs/act",
                "do=end&all=1&query=%3Fstate%3Dbogus"
            )
            #expect(asked.body.contains("flash failed") && asked.body.contains("is no state"))
            let dropped = try await server.post("/queues/shown-queue/drop", "state=bogus")
            let location = try #require(dropped.field("Location"))
            let told = try await server.get(location).body
            #expect(told.contains("is no state; it is one of ready"))
        }
    }

    @Test("A number that is searched for among runs is a job's, or stands in a name, or finds none")
    func numbers() async throws {
        let daemon = try await TestDaemon()
        let ids = try await daemon.connected { client in
            var ids: [JobID] = []
            for name in ["2024", "other"] {
                var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
                (definition.name, definition.command) = (name, ["true"])
                let job = try await client.addJob(definition).job
                try await client.fireJob(.id(job.id))
                ids.append(job.id)
            }
            return ids
        }
        try await TestServer.run(socket: daemon.socket) { server in
            for (typed, found) in [
                ("2024", [true, false]), ("202", [true, false]), ("\(ids[1])", [false, true]),
                ("999", [false, false]),
            ] {
                let page = try await server.get("/runs?q=\(typed)")
                #expect(page.status == 200, "\(typed)")
                for (id, isFound) in zip(ids, found) {
                    let isThere = page.body.contains("href=\"/jobs/\(id)\"")
                    #expect(isThere == isFound, "\(typed)")
                }
                #expect(page.body.contains("name=\"q\" value=\"\(typed)\""), "\(typed)")
                #expect(page.body.contains("No run matches.") == !found.contains(true), "\(typed)")
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerWeb

/// The parts of a page that the scripts put in place of the old ones.
@Suite(
    .enabled(if: TestDaemon.program != nil, "build the main package first, or set TIMERD_PROGRAMS")
)
struct LivePartsTests {
    /// The elements of a page that renew themselves, with their names.
    private func parts(_ page: RawClient.Reply) -> [String] {
        page.body.matches(of: /<([a-z0-9]+)[^>]* data-live="([^"]+)"/).map {
            "\($0.output.1) \($0.output.2)"
        }
    }

    @Test("A page that shows what no event tells of says how old it may become")
    func age() async throws {
        let daemon = try await TestDaemon()
        let (waits, comes) = try await daemon.connected { client in
            var queue = SetQueue(queue: "mails")
            queue.paused = true
            _ = try await client.setQueue(queue)
            var job = JobDefinition(schedule: ScheduleWords(every: "1h"))
            let comes = try await client.addJob(job).job.id
            job.queue = "mails"
            let waits = try await client.addJob(job).job.id
            _ = try await client.fireJob(.id(waits))
            return (waits, comes)
        }
        try await TestServer.run(socket: daemon.socket) { server in
            for (path, age) in [
                ("/queues", "5"), ("/queues/mails", "5"), ("/jobs/\(waits)", "5"),
                ("/doctor", "30"), ("/calendar", "30"), ("/jobs/\(comes)", nil), ("/add", nil),
            ] as [(String, String?)] {
                let page = try await server.get(path).body
                let found = page.firstMatch(of: /<body[^>]* data-age="([^"]*)"/)
                #expect(found.map { String($0.output.1) } == age, "\(path)")
            }
        }
    }

    @Test("A live part is one element whatever stands in it, and no part of a table")
    func elements() async throws {
        let daemon = try await TestDaemon()
        let id = try await daemon.connected { client in
            var queue = SetQueue(queue: "mails")
            queue.paused = true
            _ = try await client.setQueue(queue)
            return try await client.addJob(JobDefinition(schedule: ScheduleWords(every: "1h"))).job
                .id
        }
        try await TestServer.run(socket: daemon.socket) { server in
            let paths = [
                "/", "/queues/mails", "/queues", "/jobs/\(id)", "/jobs", "/runs", "/calendar",
            ]
            var before: [String: [String]] = [:]
            for path in paths {
                let found = parts(try await server.get(path))
                #expect(!found.isEmpty, "\(path)")
                for part in found {
                    #expect(!part.hasPrefix("t"), "\(path): \(part)")
                }
                before[path] = found
            }
            try await daemon.connected { client in
                var task = JobDefinition(schedule: ScheduleWords(in: "1ms"))
                task.queue = "mails"
                _ = try await client.addJob(task)
                var queue = SetQueue(queue: "mails")
                queue.paused = false
                _ = try await client.setQueue(queue)
                try await client.fireJob(.id(id))
                _ = try await client.pauseJobs(.ids([id]))
                // Once the task is there.
                var order = ReserveTasks(queues: ["mails"])
                order.wait = "20s"
                _ = try await client.reserveTasks(order)
            }
            let tasks = try await server.get("/queues/mails")
            #expect(!tasks.body.contains("There is none."))
            for path in paths {
                let found = parts(try await server.get(path))
                #expect(found == before[path], "\(path)")
            }
        }
    }

    @Test("The heading of a job's and of a queue's page, and the state beside it, are live")
    func heads() async throws {
        let daemon = try await TestDaemon()
        let id = try await daemon.connected { client in
            var queue = SetQueue(queue: "mails")
            queue.paused = true
            _ = try await client.setQueue(queue)
            var job = JobDefinition(schedule: ScheduleWords(every: "1h"))
            (job.name, job.tags) = ("nightly", ["db"])
            return try await client.addJob(job).job.id
        }
        try await TestServer.run(socket: daemon.socket) { server in
            for (path, words) in [
                ("/queues/mails", ["mails", "paused"]), ("/jobs/\(id)", ["nightly", "db"]),
            ] {
                let body = try await server.get(path).body
                let mark = try #require(body.firstRange(of: "data-live=\"head\""), "\(path)")
                let head = body[mark.upperBound...].prefix { $0 != "\n" }.prefix(1000)
                #expect(head.contains("<h1>"), "\(path)")
                for word in words { #expect(head.contains(word), "\(path): \(word)") }
            }
        }
    }
}

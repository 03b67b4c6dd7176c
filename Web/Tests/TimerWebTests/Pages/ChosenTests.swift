// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerWeb

/// What is told of jobs that were chosen, and are not there, or are too many.
@Suite(
    .enabled(if: TestDaemon.program != nil, "build the main package first, or set TIMERD_PROGRAMS")
)
struct ChosenTests {
    @Test("Jobs that are not there are told apart from those that had ended already")
    func missing() async throws {
        let daemon = try await TestDaemon()
        let (one, two) = try await daemon.connected { client in
            let words = JobDefinition(schedule: ScheduleWords(cron: "30 2 29 2 *"))
            let jobs = try await client.addJobs([words, words]).jobs
            _ = try await client.invalidateJobs(.ids([jobs[1].id]))
            return (jobs[0].id, jobs[1].id)
        }
        try await TestServer.run(socket: daemon.socket) { server in
            let asked = try await server.post("/jobs/act", "do=end&id=\(one)&id=9999")
            #expect(asked.body.contains("1 job was not found."))
            func end(_ ids: String) async throws -> String {
                try await server.follow("/jobs/act", "confirmed=1&do=end&ids=\(ids)").body
            }
            let some = try await end("\(one)%2C\(two)%2C9999")
            #expect(some.contains("1 job was ended; 1 job was not found."))
            let ended = try await end("\(two)%2C9999")
            #expect(ended.contains("1 job was ended already, 1 job was not found"))
            let none = try await end("9998%2C9999")
            #expect(none.contains("to be done: 2 jobs were not found"))
            #expect(!none.contains("already"))
        }
    }

    @Test("More boxes than a page of the list has are refused, none of them dropped without a word")
    func many() async throws {
        let daemon = try await TestDaemon()
        try await TestServer.run(socket: daemon.socket) { server in
            let boxes = (1...101).map { "id=\($0)" }.joined(separator: "&")
            let refused = try await server.follow("/jobs/act", "do=pause&\(boxes)")
            #expect(refused.body.contains("flash failed"))
            #expect(refused.body.contains("101 jobs were chosen by their boxes"))
        }
    }

    @Test("More jobs than an action takes are refused, also where a form has confirmed it")
    func confirmed() async throws {
        let daemon = try await TestDaemon()
        try await TestServer.run(socket: daemon.socket) { server in
            for (action, most) in [("fire", 200), ("end", 10_000)] {
                let ids = (1...most + 1).map { "\($0)" }.joined(separator: "%2C")
                let refused = try await server.follow(
                    "/jobs/act",
                    "confirmed=1&do=\(action)&ids=\(ids)"
                )
                #expect(refused.body.contains("flash failed"))
                #expect(refused.body.contains("\(most + 1) jobs were chosen; at most \(most) are"))
            }
        }
    }

    @Test("Of many jobs, near each other or far, those that had ended and are not there stay apart")
    func spread() async throws {
        let daemon = try await TestDaemon()
        let words = JobDefinition(schedule: ScheduleWords(cron: "30 2 29 2 *"))
        let jobs = try await daemon.connected { client in
            let jobs = try await client.addJobs(Array(repeating: words, count: 200)).jobs
                .map(\.id)
            _ = try await client.invalidateJobs(.ids([jobs[1], jobs[199]]))
            return jobs
        }
        // Side by side, far apart, and beyond the last.
        let chosen = Array(jobs[..<130]) + [jobs[135], jobs[160], jobs[161], jobs[199]]
        let ids = chosen.map(\.description).joined(separator: "%2C") + "%2C9998%2C9999"
        try await TestServer.run(socket: daemon.socket) { server in
            let ended = try await server.follow("/jobs/act", "confirmed=1&do=end&ids=\(ids)")
            #expect(ended.body.contains("132 jobs were ended; 2 jobs were not found."))
        }
        let left = try await daemon.connected { try await $0.job(.id(jobs[134])).state }
        #expect(left == .scheduled)
    }

    @Test("Jobs that were fired before the daemon went away are told, with that it did")
    func brokenOff() async throws {
        let daemon = try await TestDaemon()
        let words = JobDefinition(schedule: ScheduleWords(cron: "30 2 29 2 *"))
        let job = try await daemon.connected { try await $0.addJobs([words]).jobs[0].id }
        let outcome = try await daemon.connected { client in
            // More than it can come to.
            let jobs = Array(repeating: job, count: 1_000_000)
            async let outcome = BulkAction.fire.carryOut(jobs, dates: [:], client)
            try await daemon.connected { other in
                let before = try await other.status().seq
                // The events of several fires: the first was answered.
                while try await other.status().seq < before + 20 { try Task.checkCancellation() }
            }
            daemon.stop()
            return try await outcome
        }
        #expect(outcome.count > 0)
        #expect(!outcome.isWhole)
        let told = outcome.others ?? ""
        let start = "of job \(job) it is not known, and those behind it were left: "
        #expect(told.hasPrefix(start), "\(told)")
    }

    @Test("What a form says that means nothing is told at its field, also where an address says it")
    func form() async throws {
        let daemon = try await TestDaemon()
        try await TestServer.run(socket: daemon.socket) { server in
            for (field, words) in [
                ("tz", "kind=every&schedule=1h&tz=Asia%2FTokyo"),
                ("tz", "kind=every&schedule=1h&tz=Nowhere%2FX"),
                ("tz", "kind=calendar&schedule=Mon%2009:00%20Europe%2FParis&tz=Asia%2FTokyo"),
                ("kind", "kind=bogus&schedule=0%203%20*%20*%20*"),
                ("overlap", "kind=every&schedule=1h&overlap=bogus"),
                ("misfire", "kind=every&schedule=1h&misfire=bogus"),
            ] {
                let shown = try await server.get("/add?\(words)")
                #expect(shown.body.contains("id=\"e-\(field)\""), "\(words)")
                let sent = try await server.post("/add", "\(words)&command=true&do=save")
                #expect(sent.body.contains("id=\"e-\(field)\""), "\(words)")
            }
            let jobs = try await daemon.connected { try await $0.listJobs().jobs }
            #expect(jobs.isEmpty)
        }
    }
}

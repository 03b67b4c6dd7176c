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

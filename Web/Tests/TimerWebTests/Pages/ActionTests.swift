// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl
import TimerWords

@testable import TimerWeb

/// What an action does to a job that is not as it was shown, and what of it can be undone.
@Suite(
    .enabled(if: TestDaemon.program != nil, "build the main package first, or set TIMERD_PROGRAMS")
)
struct ActionTests {
    /// Adds jobs that fire while no test runs.
    private func add(
        _ daemon: TestDaemon,
        _ count: Int = 1,
        at date: String? = nil,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) async throws -> [JobID] {
        let schedule = date.map { ScheduleWords(at: $0) } ?? ScheduleWords(cron: "30 2 29 2 *")
        var definition = JobDefinition(schedule: schedule)
        change(&definition)
        return try await daemon.connected { [definition] client in
            try await client.addJobs(Array(repeating: definition, count: count)).jobs.map(\.id)
        }
    }

    private func job(_ id: JobID, _ daemon: TestDaemon) async throws -> Job {
        try await daemon.connected { try await $0.job(.id(id)) }
    }

    /// The ids as a form of several jobs has them.
    private func list(_ ids: [JobID]) -> String {
        ids.map(\.description).joined(separator: "%2C")
    }

    private func hasUndo(_ page: RawClient.Reply) -> Bool {
        page.body.contains(">Undo</button>")
    }

    @Test("A date that somebody has dropped is not dropped again, nor the one behind it")
    func skip() async throws {
        let daemon = try await TestDaemon()
        let ids = try await add(daemon, 2)
        let id = ids[0]
        func asSomebody() async throws -> Timestamp? {
            try await daemon.connected { client in
                try await client.skipJobs(SkipJobs(jobs: .ids([id]))).jobs.first?.fireDate
            }
        }
        try await TestServer.run(socket: daemon.socket) { server in
            for path in ["/jobs/\(id)", "/jobs/\(id)/skip"] {
                let from = try #require(try await server.get(path).hidden("from"), "\(path)")
                let since = try await asSomebody()
                let refused = try await server.follow("/jobs/\(id)/skip", "count=2&from=\(from)")
                #expect(refused.body.contains("flash failed"), "\(path)")
                let kept = try await job(id, daemon).fireDate
                #expect(kept == since, "\(path)")
            }
            let asked = try await server.post("/jobs/act", "do=skip&id=\(id)&id=\(ids[1])")
            let from = try #require(asked.hidden("from")).replacing(",", with: "%2C")
            let since = try await asSomebody()
            let other = try await job(ids[1], daemon).fireDate
            let done = try await server.follow(
                "/jobs/act",
                "confirmed=1&do=skip&ids=\(list(ids))&from=\(from)"
            )
            #expect(done.body.contains("1 job has one date less; 1 job refused: job \(id) fires"))
            let kept = try await job(id, daemon).fireDate
            #expect(kept == since)
            let dropped = try await job(ids[1], daemon).fireDate
            #expect(dropped != other)
        }
    }

    @Test("A job that cannot be fired keeps no other from it, and all of them are told")
    func fire() async throws {
        let daemon = try await TestDaemon()
        let ids = try await add(daemon, 3) { $0.command = ["sleep", "600"] }
        try await daemon.connected { _ = try await $0.fireJob(.id(ids[1])) }
        try await TestServer.run(socket: daemon.socket) { server in
            let chosen = list(ids + [JobID(rawValue: 9999)])
            let done = try await server.follow("/jobs/act", "confirmed=1&do=fire&ids=\(chosen)")
            #expect(done.body.contains("2 jobs were fired; 1 job was not found; 1 job refused: "))
            for id in ids {
                let fires = try await job(id, daemon).fires
                #expect(fires == 1, "job \(id)")
            }
            let none = try await server.follow("/jobs/act", "confirmed=1&do=fire&ids=\(list(ids))")
            #expect(none.body.contains("flash failed"))
            #expect(none.body.contains("3 jobs refused: "))
        }
    }

    @Test("A question leaves out what has no date to drop, and what is held or has ended")
    func question() async throws {
        let daemon = try await TestDaemon()
        let ids = try await add(daemon, 3)
        try await daemon.connected { client in
            _ = try await client.pauseJobs(.ids([ids[1]]))
            _ = try await client.invalidateJobs(.ids([ids[2]]))
        }
        let boxes = ids.map { "id=\($0)" }.joined(separator: "&")
        try await TestServer.run(socket: daemon.socket) { server in
            let skip = try await server.post("/jobs/act", "do=skip&\(boxes)")
            #expect(skip.hidden("ids") == "\(ids[0])")
            #expect(skip.body.contains("2 of the 3 that were chosen stay as they are"))
            let fire = try await server.post("/jobs/act", "do=fire&\(boxes)")
            #expect(fire.hidden("ids") == "\(ids[0]),\(ids[1])")
        }
    }

    @Test("What maintenance has paused is resumed, or paused beyond it, for good")
    func maintenance() async throws {
        let daemon = try await TestDaemon()
        let ids = try await add(daemon, 4)
        try await daemon.connected { client in
            _ = try await client.pauseJobs(.ids([ids[3]]))
            let paused: JobsReply = try await client.call(.beginMaintenance(nil))
            #expect(paused.jobs.map(\.id) == Array(ids[..<3]))
        }
        try await TestServer.run(socket: daemon.socket) { server in
            let shown = try await server.get("/jobs/\(ids[0])")
            #expect(shown.body.contains("Its dates fire again while the maintenance goes on."))
            let resumed = try await server.follow("/jobs/\(ids[0])/resume")
            #expect(resumed.body.contains("goes on while the maintenance does"))
            #expect(!hasUndo(resumed))
            let paused = try await server.follow("/jobs/\(ids[1])/pause")
            #expect(paused.body.contains("stays paused when the maintenance ends"))
            #expect(!hasUndo(paused))
            let both = try await server.follow(
                "/jobs/act",
                "confirmed=1&do=resume&ids=\(list([ids[2], ids[3]]))"
            )
            #expect(both.body.contains("2 jobs were resumed."))
            #expect(both.hidden("ids") == "\(ids[3])")
        }
        try await daemon.connected { client in
            let _: JobsReply = try await client.call(.endMaintenance(nil))
        }
        let left = try await job(ids[1], daemon)
        #expect(left.state == .paused && !left.maintenance)
    }

    @Test("A job that has finished is ended where a fire of it is not over, and left alone else")
    func end() async throws {
        let daemon = try await TestDaemon()
        let far = "2126-01-01T10:00:00Z"
        let tasks = try await add(daemon, 2, at: far) { $0.queue = "q" }
        let event = try await add(daemon, at: far)
        try await daemon.connected { client in
            for id in tasks + event { _ = try await client.fireJob(.id(id)) }
        }
        try await TestServer.run(socket: daemon.socket) { server in
            let shown = try await server.get("/jobs/\(tasks[0])")
            #expect(shown.body.contains("its last fire is not over"))
            #expect(shown.body.contains("href=\"/jobs/\(tasks[0])/end\""))
            let over = try await server.get("/jobs/\(event[0])")
            #expect(!over.body.contains("href=\"/jobs/\(event[0])/end\""))
            let ended = try await server.follow("/jobs/\(tasks[0])/end")
            #expect(ended.body.contains("nothing of its last fire begins any more"))
            #expect(!hasUndo(ended))
            let again = try await server.follow("/jobs/\(tasks[0])/end")
            #expect(again.body.contains("had ended already"))
            let all = "confirmed=1&do=end&ids=\(list(tasks + event))"
            let some = try await server.follow("/jobs/act", all)
            #expect(some.body.contains("1 job was ended."))
            #expect(!hasUndo(some))
            let none = try await server.follow("/jobs/act", all)
            #expect(none.body.contains("3 jobs were ended already"))
        }
        for id in tasks {
            let state = try await job(id, daemon).state
            #expect(state == .invalidated)
        }
        let left = try await job(event[0], daemon).state
        #expect(left == .finished)
    }

    @Test("The undo of an add leaves a job that somebody has changed since")
    func added() async throws {
        let daemon = try await TestDaemon()
        try await TestServer.run(socket: daemon.socket) { server in
            for isChanged in [true, false] {
                let fields = "kind=every&schedule=1000h&tz=&command=true&do=save"
                let page = try await server.follow("/add", fields)
                let revision = try #require(page.hidden("revision"))
                let jobs = try await daemon.connected { try await $0.listJobs().jobs }
                let job = try #require(jobs.last)
                if isChanged {
                    var definition = job.restated
                    definition.retries = 2
                    let change = JobRevision(of: job, definition)
                    _ = try await daemon.connected {
                        try await $0.applyJobs(ApplyJobs(change: [change]))
                    }
                }
                let path = "/jobs/\(job.id)"
                let undone = try await server.follow("\(path)/end", "revision=\(revision)")
                #expect(undone.body.contains("flash failed") == isChanged)
                // The daemon itself has looked: a look before could be too early.
                #expect(undone.body.contains("this change was made of \(revision)") == isChanged)
                let state = try await self.job(job.id, daemon).state
                #expect(state == (isChanged ? .scheduled : .invalidated))
                // What is not to be changed any more has no form.
                let form = try await server.get("\(path)/change")
                #expect(form.status == (isChanged ? 200 : 409))
                _ = try await daemon.connected { try await $0.invalidateJobs(.ids([job.id])) }
            }
        }
    }

    @Test("A change that takes out a URL which nobody is shown is not undone, and says so before")
    func lostURL() async throws {
        let daemon = try await TestDaemon()
        let id = try await add(daemon) {
            ($0.command, $0.ping) = (["true"], "https://hc.example/SECRET")
        }[0]
        try await TestServer.run(socket: daemon.socket) { server in
            let path = "/jobs/\(id)/change"
            for (command, isLost) in [("false", false), ("", true)] {
                let revision = try #require(try await server.get(path).hidden("revision"))
                let fields =
                    "kind=cron&schedule=30%202%2029%202%20*&tz=UTC&command=\(command)&revision=\(revision)"
                let tried = try await server.post(path, fields + "&do=preview")
                #expect(tried.body.contains("The change cannot be undone") == isLost)
                let saved = try await server.follow(path, fields + "&do=save")
                #expect(saved.body.contains("was changed"))
                #expect(saved.body.contains("The change cannot be undone") == isLost)
                #expect(hasUndo(saved) == !isLost)
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import Testing
import TimerControl
import TimerWords

@testable import TimerWeb

/// What the undo of a change leaves of what somebody has done since.
@Suite(
    .enabled(if: TestDaemon.program != nil, "build the main package first, or set TIMERD_PROGRAMS")
)
struct UndoTests {
    private let far = "2126-01-01T10:00:00Z"

    private func add(_ daemon: TestDaemon, isPaused: Bool = false) async throws -> JobID {
        // Fires while no test runs.
        var definition = JobDefinition(schedule: ScheduleWords(cron: "30 2 29 2 *"))
        definition.command = ["true"]
        if isPaused { definition.paused = true }
        return try await daemon.connected { [definition] in try await $0.addJob(definition).job.id }
    }

    private func job(_ id: JobID, _ daemon: TestDaemon) async throws -> Job {
        try await daemon.connected { try await $0.job(.id(id)) }
    }

    /// Changes a job as a form does; answers the fields of its undo.
    private func change(
        _ id: JobID,
        _ daemon: TestDaemon,
        _ change: (inout JobDefinition) -> Void
    ) async throws -> String {
        let before = try await job(id, daemon)
        var definition = before.restated
        change(&definition)
        let changed = try await daemon.connected { [definition] client in
            let to = JobRevision(id: id, definition: definition, ifRevision: before.revision)
            return try await client.applyJobs(ApplyJobs(change: [to])).changed
        }
        let after = try #require(changed.first)
        let undo = try #require(Revert(of: after, to: before).undo)
        return String(Link(path: [], query: undo.fields).text.dropFirst(2))
    }

    @Test("The definition is what it was, and a date that was dropped or moved since stays so")
    func dates() async throws {
        let daemon = try await TestDaemon()
        try await TestServer.run(socket: daemon.socket) { server in
            for isSkipped in [true, false] {
                let id = try await add(daemon)
                let undo = try await change(id, daemon) { $0.retries = 2 }
                try await daemon.connected { client in
                    if isSkipped {
                        try await client.skipJobs(SkipJobs(jobs: .ids([id])))
                    } else {
                        try await client.setFireDate(of: .id(id), to: far)
                    }
                }
                let since = try await job(id, daemon)
                let page = try await server.follow("/jobs/\(id)/revert", undo)
                #expect(page.body.contains("is what it was before its change"))
                #expect(page.body.contains("Its next date is not set back: job \(id) fires next"))
                let now = try await job(id, daemon)
                #expect(now.definition.retries == nil)
                #expect(now.fireDate == since.fireDate)
            }
        }
    }

    @Test("A job that became an event, and a command again, has the date that it had")
    func kind() async throws {
        let daemon = try await TestDaemon()
        try await TestServer.run(socket: daemon.socket) { server in
            var definition = JobDefinition(schedule: ScheduleWords(every: "1000h"))
            definition.command = ["true"]
            let added = try await daemon.connected { [definition] in
                try await $0.addJob(definition).job
            }
            let undo = try await change(added.id, daemon) { $0.command = nil }
            let page = try await server.follow("/jobs/\(added.id)/revert", undo)
            #expect(!page.body.contains("is not set back"))
            let now = try await job(added.id, daemon)
            #expect(now.definition.command == ["true"])
            #expect(now.fireDate == added.fireDate)
        }
    }

    @Test("A job that is paused has the date that it had, too, and a move says that it is")
    func paused() async throws {
        let daemon = try await TestDaemon()
        try await TestServer.run(socket: daemon.socket) { server in
            var definition = JobDefinition(schedule: ScheduleWords(every: "1000h"))
            (definition.command, definition.paused) = (["true"], true)
            let added = try await daemon.connected { [definition] in
                try await $0.addJob(definition).job
            }
            let undo = try await change(added.id, daemon) { $0.schedule.every = "500h" }
            _ = try await server.follow("/jobs/\(added.id)/revert", undo)
            let now = try await job(added.id, daemon)
            #expect(now.fireDate == added.fireDate)
            #expect(now.state == .paused)
            let moved = try await server.follow("/jobs/\(added.id)/move", "to=\(far)")
            #expect(moved.body.contains("and fires once it is resumed."))
            #expect(!moved.body.contains(" fires next "))
        }
    }

    @Test("A pause, or the end of one, that came since stays")
    func pauses() async throws {
        let daemon = try await TestDaemon()
        try await TestServer.run(socket: daemon.socket) { server in
            for wasPaused in [true, false] {
                let id = try await add(daemon, isPaused: wasPaused)
                let undo = try await change(id, daemon) { $0.retries = 2 }
                try await daemon.connected { client in
                    if wasPaused {
                        _ = try await client.resumeJobs(.ids([id]))
                    } else {
                        _ = try await client.pauseJobs(.ids([id]))
                    }
                }
                _ = try await server.follow("/jobs/\(id)/revert", undo)
                let now = try await job(id, daemon)
                #expect(now.definition.retries == nil)
                #expect(now.state == (wasPaused ? .scheduled : .paused))
            }
        }
    }

    @Test("Other dates are not undone once the next one was moved, and else bring a move back")
    func schedule() async throws {
        let daemon = try await TestDaemon()
        let id = try await add(daemon)
        let other = ScheduleWords(cron: "30 3 29 2 *")
        try await daemon.connected { _ = try await $0.setFireDate(of: .id(id), to: far) }
        try await TestServer.run(socket: daemon.socket) { server in
            let undo = try await change(id, daemon) { $0.schedule = other }
            _ = try await server.follow("/jobs/\(id)/revert", undo)
            #expect(try await job(id, daemon).fireDate == Timestamp(rfc3339: far))
            let again = try await change(id, daemon) { $0.schedule = other }
            try await daemon.connected {
                _ = try await $0.setFireDate(of: .id(id), to: "2127-01-01T10:00:00Z")
            }
            let refused = try await server.follow("/jobs/\(id)/revert", again)
            #expect(refused.body.contains("flash failed"))
            #expect(refused.body.contains("was moved or skipped since its change"))
            let kept = try await job(id, daemon)
            #expect(kept.definition.schedule.cron == other.cron)
            #expect(kept.fireDate == Timestamp(rfc3339: "2127-01-01T10:00:00Z"))
        }
    }
}

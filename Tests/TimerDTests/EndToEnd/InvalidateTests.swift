// SPDX-License-Identifier: Apache-2.0

import Foundation
import Locks
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Invalidation while jobs fire", .timeLimit(.minutes(5)))
struct InvalidateTests {
    @Test("3,000 jobs are invalidated from 8 connections as they fire: none fires after its reply")
    func storm() async throws {
        try await DaemonProcess.with { daemon in
            let count = Machine.isSlow ? 1000 : 3000
            let watcher = try await ControlClient.connect(to: daemon.socket)
            var subscribe = Subscribe()
            subscribe.types = [.fireFired, .jobInvalidated]
            _ = try await watcher.subscribe(subscribe)

            // All are due around the time at which they are invalidated.
            let adder = try await ControlClient.connect(to: daemon.socket)
            // How long adding takes is the machine's affair: with too little time, again with more.
            var (jobs, start) = try await add(count, within: .seconds(2), adder)
            var lead = TimeSpan.seconds(2)
            while Timestamp(Date()) > start {
                lead = lead + lead
                try #require(lead < .seconds(200), "\(count) jobs are added within minutes")
                for batch in stride(from: 0, to: count, by: 1000) {
                    _ = try await adder.invalidateJobs(.ids(Array(jobs[batch..<batch + 1000])))
                }
                (jobs, start) = try await add(count, within: lead, adder)
            }
            let wanted = Set(jobs)
            // Time is what this is about: the first of them fires now.
            try await Task.sleep(
                until: .now
                    + .microseconds(
                        max(0, (start - Timestamp(Date())).microseconds)
                    ),
                clock: .continuous
            )
            let answered = Answered()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for connection in 0..<8 {
                    let mine = jobs.enumerated().filter { $0.offset % 8 == connection }
                        .map(\.element).reversed()
                    group.addTask {
                        let client = try await ControlClient.connect(to: daemon.socket)
                        for job in mine {
                            _ = try await client.invalidateJobs(.ids([job]))
                            answered.note(job)
                        }
                        await client.close()
                    }
                }
                try await group.waitForAll()
            }
            var last = JobDefinition(schedule: ScheduleWords(in: "1500ms"))
            last.name = "the-end"
            let end = try await adder.addJob(last).job
            var fired = 0
            var late: [JobID] = []
            for try await event in watcher.events where event.type == .fireFired {
                if event.job == end.id { break }
                guard wanted.contains(event.job) else { continue }
                fired += 1
                // By the daemon's stamp of the fire, against our stamp of the reply.
                if let reply = answered[event.job], let firedAt = event.firedAt, firedAt > reply {
                    late.append(event.job)
                }
            }
            #expect(late.isEmpty)
            #expect(fired > 100, "some fired before they were invalidated")
            #expect(fired < count, "some were invalidated before they fired")
            await watcher.close()
            await adder.close()
        }
    }

    /// Adds jobs of which the first is due when `lead` has passed, the last 3 s later.
    private func add(_ count: Int, within lead: TimeSpan, _ client: ControlClient) async throws
        -> (jobs: [JobID], start: Timestamp)
    {
        let start = Timestamp(Date()) + lead
        var jobs: [JobID] = []
        for batch in 0..<10 {
            let definitions = (0..<count / 10).map { index in
                let offset = TimeSpan.milliseconds(Int64((batch + index * 10) * 3000 / count))
                var definition = JobDefinition(
                    schedule: ScheduleWords(at: (start + offset).rfc3339)
                )
                // Asked for, so that a date that has passed on a slow machine is not refused.
                definition.misfire = .once
                return definition
            }
            let reply: JobsReply = try await client.call(.addJobs(AddJobs(definitions)))
            jobs += reply.jobs.map(\.id)
        }
        return (jobs, start)
    }

    /// When the reply to each invalidation came, by the wall clock.
    private final class Answered: Sendable {
        private let dates = Locked<[JobID: Timestamp]>([:])
        func note(_ job: JobID) { dates.withLock { $0[job] = Timestamp(Date()) } }
        subscript(_ job: JobID) -> Timestamp? { dates.withLock { $0[job] } }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Synchronization
import Testing
import TimerControl

@testable import TimerD

@Suite("Invalidation while jobs fire", .timeLimit(.minutes(5)))
struct InvalidateTests {
    @Test("10,000 jobs are invalidated from 8 connections as they fire: none fires after its reply")
    func storm() async throws {
        try await DaemonProcess.with { daemon in
            let count = 10_000
            let watcher = try await ControlClient.connect(to: daemon.socket)
            var subscribe = Subscribe()
            subscribe.types = [.fireFired, .jobInvalidated]
            _ = try await watcher.subscribe(subscribe)

            // All are due around the time at which they are invalidated.
            let adder = try await ControlClient.connect(to: daemon.socket)
            // How long adding takes is the machine's affair: a first batch tells.
            let began = Timestamp(Date())
            let far = JobDefinition(schedule: ScheduleWords(in: "1h"))
            let _: JobsReply = try await adder.call(
                .addJobs(AddJobs([JobDefinition](repeating: far, count: count / 10)))
            )
            let batchTime = Timestamp(Date()) - began
            let start =
                Timestamp(Date())
                + TimeSpan(microseconds: batchTime.microseconds * 20 + 500_000)
            var jobs: [JobID] = []
            for batch in 0..<10 {
                let definitions = (0..<count / 10).map { index in
                    let offset = TimeSpan.milliseconds(Int64((batch + index * 10) * 3000 / count))
                    return JobDefinition(schedule: ScheduleWords(at: (start + offset).rfc3339))
                }
                let reply: JobsReply = try await adder.call(.addJobs(AddJobs(definitions)))
                jobs += reply.jobs.map(\.id)
            }
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
            let end = try await adder.addJob(last)
            var fired = 0
            var late: [JobID] = []
            for try await event in watcher.events where event.type == .fireFired {
                if event.job == end.id { break }
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

    /// When the reply to each invalidation came, by the wall clock.
    private final class Answered: Sendable {
        private let dates = Mutex<[JobID: Timestamp]>([:])
        func note(_ job: JobID) { dates.withLock { $0[job] = Timestamp(Date()) } }
        subscript(_ job: JobID) -> Timestamp? { dates.withLock { $0[job] } }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("The event log", .timeLimit(.minutes(1))) struct EventLogTests {
    @Test(
        "The words of a fire and of the end that was told with it are kept once, up to the end's number"
    )
    func wordsOfEnd() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "30d")) { $0.name = "backup" }
            try await test.change(job.id, .invalidate)
            var fired = Event(seq: 1_000, type: .fireFired, at: TestScheduler.start, job: job.id)
            (fired.owner, fired.ownerID, fired.revision) = (job.owner, job.ownerID, job.revision)
            fired.name = "backup"
            var end = fired
            (end.seq, end.type) = (1_001, .jobFinished)
            // As of a job that has had other words before.
            var (oldFired, oldEnd) = (fired, end)
            (oldFired.seq, oldFired.revision, oldFired.name) = (1_002, 0, "old")
            (oldEnd.seq, oldEnd.revision, oldEnd.name) = (1_003, 0, "old")
            try await test.store.writer.write { [fired, end, oldFired, oldEnd] database in
                try EventLog(database).insert(fired, end: end)
                try EventLog(database).insert(oldFired, end: oldEnd)
                let last: Int64? = try database.prepare("SELECT last_seq FROM jobs").value()
                #expect(last == end.seq)
                let kept = try database.prepare("SELECT through_seq FROM event_words").all {
                    try $0.get(0, as: Int64.self)
                }
                #expect(kept == [oldEnd.seq])
                let told = try EventLog(database).events(after: 999, limit: 10)
                #expect(told.map(\.seq) == [1_000, 1_001, 1_002, 1_003])
                #expect(told.map(\.name) == ["backup", "backup", "old", "old"])
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// A one-shot event, whose end is told with its fire.
@Suite("The end of a one-shot", .timeLimit(.minutes(2)))
struct SchedulerEndTests {
    /// The events about `job`, as type and whether they are told again.
    static func told(_ test: TestScheduler, _ job: JobID) -> [String] {
        test.sink.all.filter { $0.job == job }.map {
            $0.type.rawValue + ($0.redelivered == true ? " again" : "")
        }
    }

    @Test("It is told right after the fire, though the store is busy, and stored with it")
    func together() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "4s")) { $0.name = "egg" }
            try await test.settle()
            let gate = SchedulerAheadTests.stall(test)
            await test.advanceWithoutStore(by: .seconds(4))
            #expect(Self.told(test, job.id) == ["job.added", "fire.fired", "job.finished"])
            gate.signal()
            try await test.settle()
            let events = test.sink.all.filter { $0.job == job.id }
            let (fired, end) = (events[1], events[2])
            #expect(end.seq == fired.seq + 1)
            #expect(end.reason == "once")
            #expect(end.name == "egg")
            let stored = try await test.store.reader.read { database in
                try EventLog(database).events(after: fired.seq - 1, limit: 10)
            }
            #expect(stored == [fired, end])
            let last = try await test.store.reader.read { database in
                try database.prepare("SELECT last_seq FROM jobs").value(as: Int64.self)
            }
            #expect(last == end.seq)
            #expect(try await test.job(job.id).state == .finished)
        }
    }

    @Test("A crash before they are stored has both told again")
    func again() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "4s"))
            try await test.settle()
            let after = try await test.crashedAndDown(for: .seconds(5))
            try await after.advance(by: .seconds(1))
            #expect(
                Self.told(after, job.id) == ["fire.fired again", "job.finished again"]
            )
            #expect(try await after.job(job.id).state == .finished)
            try await after.close()
        }
    }

    @Test("It is in the log behind what was told of the job before, whose record may wait")
    func behindOthers() async throws {
        try await TestScheduler.with { test in
            try await test.add(ScheduleWords(in: "4s"))
            await test.advanceWithoutStore(by: .seconds(4))
            let kept: [Event] = try await withCheckedThrowingContinuation { continuation in
                test.store.writer.submit { database in
                    try EventLog(database).events(after: 0, limit: 10)
                } completion: {
                    continuation.resume(with: $0)
                }
            }
            #expect(kept.map(\.type) == [.jobAdded, .fireFired, .jobFinished])
        }
    }
}

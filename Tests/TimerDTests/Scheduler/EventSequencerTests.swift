// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Events that find too few numbers.
@Suite("Event sequencer", .timeLimit(.minutes(2))) struct EventSequencerTests {
    @Test(
        "With one number left a fire waits for the next block, and is told with the end of its job"
    )
    func oneLeft() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "5s"))
            try await test.settle()
            let sequencer = test.scheduler.sequencer
            let next = sequencer.next
            sequencer.extended(to: next + 2)
            #expect(sequencer.canNumber)
            sequencer.extended(to: next + 1)
            #expect(!sequencer.canNumber)
            try await test.advance(by: .seconds(6))
            #expect(test.fired(job.id) == [5])
            let told = test.sink.all.suffix(2)
            #expect(told.map(\.type) == [.fireFired, .jobFinished])
            #expect(told.map(\.seq) == [next, next + 1])
        }
    }

    @Test("Of events that take more than a block of numbers, each block asks for the next")
    func moreThanABlock() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "1h"))
            try await test.settle()
            let sequencer = test.scheduler.sequencer
            let next = sequencer.next
            sequencer.extended(to: next)
            let count = Int(EventNumbers.blockSize) + 100
            var event = Event(seq: 0, type: .jobPaused, at: TestScheduler.start, job: job.id)
            (event.owner, event.ownerID, event.revision) = (job.owner, job.ownerID, job.revision)
            let told = (0..<count).map { [event] place in
                // Of a row that is not there: only the numbers matter.
                OutboxEvent(
                    outbox: 1_000_000,
                    place: place,
                    isLast: place == count - 1,
                    event: event
                )
            }
            await test.loop.ask { [scheduler = test.scheduler] in
                scheduler.assumeIsolated { $0.publish(told) }
            }
            try await eventually("all of them are told") {
                test.sink.all(.jobPaused).count == count
            }
            try await test.settle()
            #expect(test.sink.all(.jobPaused).map(\.seq) == Array(next..<next + Int64(count)))
            #expect(sequencer.canNumber)
        }
    }
}

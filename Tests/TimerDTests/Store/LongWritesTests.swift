// SPDX-License-Identifier: Apache-2.0

import Locks
import Testing

@testable import TimerD

@Suite("Writes of users that take long", .timeLimit(.minutes(1))) struct LongWritesTests {
    private static let ann: UInt32 = 1001
    private static let ben: UInt32 = 1002

    /// Moves by hand alone.
    private final class SetClock: Sendable {
        private let instant = Locked(SuspendingClock.now)

        var now: SuspendingClock.Instant { instant.withLock { $0 } }

        func advance(by time: Duration) { instant.withLock { $0 += time } }
    }

    private let clock = SetClock()
    private let fixture: WriteQueueFixture

    init() throws {
        fixture = try WriteQueueFixture(now: { [clock] in clock.now })
    }

    /// Submits a command that takes so long, and notes its begin and its end.
    private func submit(_ name: String, of user: UInt32?, taking milliseconds: Int) {
        let (clock, notes) = (clock, fixture.notes)
        fixture.submit(name, of: user) { _ in
            notes.add("begin \(name)")
            clock.advance(by: .milliseconds(milliseconds))
        }
    }

    @Test("Whose writes have taken 20 ms of a batch ends it: others hear before the next of his")
    func endsBatch() async throws {
        let outcome = try await fixture.batch {
            submit("b1", of: Self.ben, taking: 1)
            submit("a1", of: Self.ann, taking: 12)
            submit("a2", of: Self.ann, taking: 12)
            submit("a3", of: Self.ann, taking: 12)
            submit("b2", of: Self.ben, taking: 1)
        }
        #expect(
            outcome.notes == [
                "begin b1", "begin a1", "begin a2", "b1", "a1", "a2",
                "begin a3", "begin b2", "a3", "b2",
            ]
        )
        #expect(fixture.queue.longWrites.take(of: Self.ann) == .milliseconds(24))
        #expect(fixture.queue.longWrites.take(of: Self.ann) == nil, "it is said once")
        #expect(fixture.queue.longWrites.take(of: Self.ben) == nil)
        try await fixture.stop()
    }

    @Test("Little work of many users, and what nobody asked for, share a commit however long")
    func shared() async throws {
        let outcome = try await fixture.batch {
            for user in UInt32(1)...5 { submit("\(user)", of: user, taking: 19) }
            submit("daemon's", of: nil, taking: 1000)
        }
        let names = (1...5).map { "\($0)" } + ["daemon's"]
        #expect(outcome.notes == names.map { "begin \($0)" } + names)
        for user in UInt32(1)...5 { #expect(fixture.queue.longWrites.take(of: user) == nil) }
        try await fixture.stop()
    }

    @Test("What is refused counts as well, and is known before its user hears of it")
    func refused() async throws {
        let (clock, queue, notes) = (clock, fixture.queue, fixture.notes)
        _ = try await fixture.batch {
            queue.submit(of: Self.ann) { _ in
                clock.advance(by: .seconds(1))
                throw Refused()
            } completion: { (_: Result<Void, any Error>) in
                notes.add("\(queue.longWrites.take(of: Self.ann) ?? .zero)")
            }
        }
        #expect(notes.all == ["\(Duration.seconds(1))"])
        try await fixture.stop()
    }
}

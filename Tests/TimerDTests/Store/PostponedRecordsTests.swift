// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerD

@Suite("Postponed records", .timeLimit(.minutes(1))) struct PostponedRecordsTests {
    private let fixture: WriteQueueFixture

    init() throws { fixture = try WriteQueueFixture() }

    private func postpone(_ number: Int) {
        fixture.queue.postpone(WriteQueueFixture.insert(number)) { [notes = fixture.notes] in
            notes.add("\(number)")
        }
    }

    /// Returns once a command that waits for no postponed record is stored.
    private func commit(_ number: Int) async throws {
        try await withCheckedThrowingContinuation { continuation in
            fixture.queue.submit(WriteQueueFixture.insert(number)) { continuation.resume(with: $0) }
        }
    }

    @Test("They are stored with one of the next commits, and told then")
    func commits() async throws {
        postpone(100)
        for number in 1...PostponedRecords.commitLimit { try await commit(number) }
        #expect(try fixture.stored().contains(100))
        // It is told behind the command of that commit, and before that of the next.
        try await commit(1000)
        #expect(fixture.notes.all == ["100"])
        try await fixture.stop()
    }

    @Test("A command that has to see them runs again behind them")
    func first() async throws {
        postpone(100)
        let rows: Int? = try await withCheckedThrowingContinuation { continuation in
            fixture.queue.submit { database in
                if database.notes.hasPostponed { throw PostponedFirst() }
                return try database.prepare("SELECT count(*) FROM numbers WHERE number = 100")
                    .value()
            } completion: {
                continuation.resume(with: $0)
            }
        }
        #expect(rows == 1)
        try await fixture.stop()
    }

    @Test("A record that is to follow them is stored behind them")
    func followed() async throws {
        postpone(100)
        fixture.queue.record(seesAll: true, WriteQueueFixture.insert(1))
        let numbers: [Int] = try await withCheckedThrowingContinuation { continuation in
            fixture.queue.submit { database in
                try database.prepare("SELECT number FROM numbers ORDER BY id").all {
                    try $0.get(0, as: Int.self)
                }
            } completion: {
                continuation.resume(with: $0)
            }
        }
        #expect(numbers == [100, 1])
        try await fixture.stop()
    }

    @Test("They are stored by themselves where no commit comes")
    func alone() async throws {
        await withCheckedContinuation { continuation in
            fixture.queue.postpone(WriteQueueFixture.insert(1)) { continuation.resume() }
        }
        #expect(try fixture.stored() == [1])
        try await fixture.stop()
    }

    @Test("Whoever waits for all that was submitted waits for them, and so does the end")
    func awaited() async throws {
        for number in 0..<3 { postpone(number) }
        try await fixture.queue.barrier()
        #expect(try fixture.stored() == [0, 1, 2])
        for number in 3..<6 { postpone(number) }
        try await fixture.queue.close()
        #expect(try fixture.stored() == [0, 1, 2, 3, 4, 5])
        #expect(fixture.notes.all == (0..<6).map(String.init))
        try await fixture.stop()
    }
}

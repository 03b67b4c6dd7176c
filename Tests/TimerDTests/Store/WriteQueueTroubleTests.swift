// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing

@testable import SQLite
@testable import TimerD

/// What a full disk, a locked database or a failed commit does to commands and records.
@Suite("WriteQueue in trouble", .timeLimit(.minutes(1))) struct WriteQueueTroubleTests {
    private let fixture: WriteQueueFixture
    private let loop: HeldLoop
    private let queue: WriteQueue

    init() throws {
        let held = try WriteQueueFixture.held()
        (fixture, loop) = (held.fixture, held.loop)
        queue = held.fixture.queue
    }

    /// Ways in which SQLite itself takes a whole transaction with it.
    enum Trouble: String, CaseIterable, CustomTestStringConvertible {
        /// A deferred foreign key is checked by COMMIT, which leaves the transaction open.
        case commitRefused
        /// An INSERT that finds no room undoes the transaction, not itself alone.
        case diskFull

        var testDescription: String { rawValue }

        var code: String {
            switch self {
            case .commitRefused: "SQLITE_CONSTRAINT_FOREIGNKEY"
            case .diskFull: "SQLITE_FULL"
            }
        }

        func cause(_ database: Database) throws {
            switch self {
            case .commitRefused: try database.execute("INSERT INTO orphans VALUES (1)")
            case .diskFull:
                let limit = try database.prepare("PRAGMA max_page_count = 20").value(as: Int.self)
                #expect(limit == 20)
                defer { restoreRoom(database) }
                try database.prepare("INSERT INTO blobs VALUES (zeroblob(1000000))").run()
            }
        }
    }

    @Test(
        "When a transaction is lost its commands fail and stay undone, its records are stored later",
        arguments: Trouble.allCases
    )
    func lostTransaction(trouble: Trouble) async throws {
        let attempts = Notes()
        let outcome = try await fixture.batch {
            fixture.submit("command") { database in
                attempts.add("command")
                try WriteQueueFixture.insert(1)(database)
            }
            fixture.record(2)
            fixture.submit("culprit") { try trouble.cause($0) }
            fixture.submit(3)
            fixture.record(4)
        }
        let code = trouble.code
        #expect(outcome.notes == ["command \(code)", "culprit \(code)", "3 \(code)"])
        #expect(outcome.stored.isEmpty)
        #expect(outcome.reports == ["trouble: \(code)"])
        #expect(outcome.statistics.trouble?.codeName == code)
        #expect(outcome.statistics.keptRecords == 2)

        try await queue.write(WriteQueueFixture.insert(5))
        #expect(try fixture.stored() == [2, 4, 5])
        #expect(fixture.notes.all.suffix(2) == ["2", "4"])
        #expect(fixture.reports.all == ["trouble: \(code)", "recovered"])
        #expect(attempts.all == ["command"])
        #expect(queue.statistics.trouble == nil)
        #expect(queue.statistics.keptRecords == 0)
        try await fixture.stop()
    }

    @Test("A refusal that stands on a write that is not stored is not told")
    func refusedForNothing() async throws {
        let taken: @Sendable (Database) throws -> Void = { _ in throw Refused() }
        let lost = try await fixture.batch {
            fixture.submit(1)
            fixture.submit("second", taken)
            fixture.submit("culprit") { try Trouble.commitRefused.cause($0) }
        }
        let code = Trouble.commitRefused.code
        #expect(lost.notes == ["1 \(code)", "second \(code)", "culprit \(code)"])
        let stored = try await fixture.batch {
            fixture.submit(2)
            fixture.submit("second", taken)
        }
        #expect(stored.stored == [2])
        #expect(stored.notes.last != "second \(code)")
        try await fixture.stop()
    }

    @Test("A lost transaction's records are stored without anyone asking, in order")
    func retriesAlone() async throws {
        let outcome = try await fixture.batch {
            fixture.record(1)
            fixture.record(2)
            fixture.submit("culprit") { try Trouble.commitRefused.cause($0) }
            fixture.record(3)
        }
        #expect(outcome.stored.isEmpty)
        await loop.settle()
        #expect(loop.delays == [.milliseconds(250)])
        await loop.pass()
        #expect(try fixture.stored() == [1, 2, 3])
        #expect(fixture.notes.all == ["culprit SQLITE_CONSTRAINT_FOREIGNKEY", "1", "2", "3"])
        #expect(loop.delays.isEmpty)
        try await fixture.stop()
    }

    @Test("A record that cannot be stored holds back the commands after it, not those before")
    func blockingRecord() async throws {
        let isBroken = Atomic(true)
        let outcome = try await fixture.batch {
            fixture.submit(1)
            fixture.record(2)
            queue.record { database in
                try WriteQueueFixture.insert(3)(database)
                if isBroken.load(ordering: .relaxed) { throw Refused() }
            }
            fixture.submit(4)
            fixture.record(5)
        }
        #expect(outcome.stored == [1, 2])
        #expect(outcome.notes == ["1", "2", "4 SQLITE_ERROR"])
        #expect(outcome.reports == ["trouble: SQLITE_ERROR"])
        #expect(outcome.statistics.keptRecords == 2)
        let error = await #expect(throws: DatabaseError.self) { try await queue.barrier() }
        #expect(error?.message == "refused")

        isBroken.store(false, ordering: .relaxed)
        try await queue.write(WriteQueueFixture.insert(6))
        #expect(try fixture.stored() == [1, 2, 3, 5, 6])
        #expect(fixture.reports.all == ["trouble: SQLITE_ERROR", "recovered"])
        try await fixture.stop()
    }

    @Test("A record that is given up is undone alone; those around it are stored in order, once")
    func givenUpRecord() async throws {
        let (fixture, queue) = (fixture, queue)
        let failing = { @Sendable (number: Int) in
            let isGivenUp = { @Sendable (error: any Error) in error is Refused }
            queue.record(isGivenUp: isGivenUp) { database in
                try WriteQueueFixture.insert(number)(database)
                throw Refused()
            } durable: {
                fixture.notes.add("\(number) given up")
            }
        }
        let outcome = try await fixture.batch {
            failing(1)
            fixture.record(2)
            fixture.record(3)
            failing(4)
            fixture.record(5)
            fixture.submit(6)
            fixture.record(7)
            failing(8)
            fixture.record(9)
        }
        #expect(outcome.stored == [2, 3, 5, 6, 7, 9])
        #expect(
            outcome.notes
                == ["1 given up", "2", "3", "4 given up", "5", "6", "7", "8 given up", "9"]
        )
        #expect(outcome.reports == [])
        #expect(outcome.statistics.commits == 1)
        try await fixture.stop()
    }

    @Test("A command that fails takes nothing of the records around it along")
    func failedCommandAmongRecords() async throws {
        let outcome = try await fixture.batch {
            fixture.record(1)
            fixture.record(2)
            fixture.submit("3") { database in
                try WriteQueueFixture.insert(3)(database)
                throw Refused()
            }
            fixture.record(4)
        }
        #expect(outcome.stored == [1, 2, 4])
        #expect(outcome.notes == ["1", "2", "3 refused", "4"])
        try await fixture.stop()
    }

    @Test("While the disk is full commands say so, and once there is room all goes on by itself")
    func fullDisk() async throws {
        try await queue.write { try $0.prepare("PRAGMA max_page_count = 10").run() }
        let hasRoom = Atomic(false)
        queue.record { database in
            if hasRoom.load(ordering: .relaxed) { restoreRoom(database) }
            try database.prepare("INSERT INTO blobs VALUES (zeroblob(1000000))").run()
        } durable: { [notes = fixture.notes] in
            notes.add("blob")
        }
        fixture.record(1)
        for _ in 0..<3 {
            let error = await #expect(throws: DatabaseError.self) { try await queue.barrier() }
            #expect(error?.isFull == true)
        }
        #expect(queue.statistics.trouble?.isFull == true)
        hasRoom.store(true, ordering: .relaxed)
        await loop.pass()
        #expect(fixture.notes.all == ["blob", "1"])
        try await queue.write(WriteQueueFixture.insert(2))
        #expect(try fixture.stored() == [1, 2])
        #expect(fixture.reports.all == ["trouble: SQLITE_FULL", "recovered"])
        try await fixture.stop()
    }

    @Test("A command that changes nothing says nothing about the disk")
    func emptyCommit() async throws {
        await #expect(throws: DatabaseError.self) {
            try await queue.write { try Trouble.commitRefused.cause($0) }
        }
        try await queue.barrier()
        #expect(fixture.reports.all == ["trouble: SQLITE_CONSTRAINT_FOREIGNKEY"])
        try await queue.write(WriteQueueFixture.insert(1))
        #expect(fixture.reports.all.last == "recovered")
        try await fixture.stop()
    }

    @Test("A retry waits longer after each failure")
    func retryDelays() async throws {
        let attempts = Notes()
        queue.record { database in
            attempts.add("attempt")
            if attempts.all.count <= 3 { throw Refused() }
            try WriteQueueFixture.insert(1)(database)
        }
        await loop.settle()
        for delay in [250, 500, 1000] {
            #expect(loop.delays == [.milliseconds(delay)])
            await loop.pass()
        }
        #expect(attempts.all.count == 4)
        #expect(loop.delays.isEmpty)
        #expect(try fixture.stored() == [1])
        #expect(fixture.reports.all == ["trouble: SQLITE_ERROR", "recovered"])
        try await fixture.stop()
    }

    @Test("While another process writes, commands are refused and records wait")
    func busy() async throws {
        try await queue.write { try $0.execute("PRAGMA busy_timeout = 0") }
        let outsider = try Outsider(fixture.path)
        try outsider.execute("BEGIN IMMEDIATE")
        let outcome = try await fixture.batch {
            fixture.submit(1)
            fixture.record(2)
            fixture.submit(3)
        }
        #expect(outcome.notes == ["1 SQLITE_BUSY", "3 SQLITE_BUSY"])
        try outsider.execute("COMMIT")
        try await queue.write(WriteQueueFixture.insert(4))
        #expect(try fixture.stored() == [2, 4])
        #expect(fixture.reports.all == ["trouble: SQLITE_BUSY", "recovered"])
        try await fixture.stop()
    }

    @Test("A body that ends the shared transaction fails, and takes its batch with it")
    func endsTransaction() async throws {
        let outcome = try await fixture.batch {
            fixture.submit("culprit") { try $0.execute("ROLLBACK") }
            fixture.submit(1)
            fixture.submit("culprit") { try $0.execute("ROLLBACK") }
            fixture.submit(2)
        }
        #expect(outcome.stored.isEmpty)
        #expect(
            outcome.notes == [
                "culprit SQLITE_MISUSE", "1 SQLITE_ERROR", "culprit SQLITE_ERROR", "2 SQLITE_ERROR",
            ]
        )
        try await queue.write(WriteQueueFixture.insert(3))
        #expect(try fixture.stored() == [3])
        try await fixture.stop()
    }

    @Test("A body that hides a full disk from the queue does not pass for stored")
    func hiddenRollback() async throws {
        let outcome = try await fixture.batch {
            fixture.submit(1)
            // The body carries on as if nothing had happened.
            fixture.submit("culprit") { try? Trouble.diskFull.cause($0) }
        }
        #expect(outcome.stored.isEmpty)
        #expect(outcome.notes == ["1 SQLITE_ERROR", "culprit SQLITE_ERROR"])
        try await fixture.stop()
    }

    @Test("Closing stores the records of a batch that it was queued in and that failed")
    func closesAfterFailure() async throws {
        let isQueued = DispatchSemaphore(value: 0)
        fixture.thread.perform { isQueued.wait() }
        fixture.record(1)
        fixture.submit("culprit") { try Trouble.commitRefused.cause($0) }
        // It runs up to the hop to the thread, so closing is queued behind them when it returns.
        let closing = Task.immediate { [queue] in try await queue.close() }
        isQueued.signal()
        try await closing.value
        #expect(try fixture.stored() == [1])
        await fixture.thread.stop()
    }

    @Test("Closing tries once more, and says what could not be stored")
    func closesInTrouble() async throws {
        let attempts = Notes()
        queue.record { _ in
            attempts.add("attempt")
            throw Refused()
        }
        await #expect(throws: DatabaseError.self) { try await queue.barrier() }
        let before = attempts.all.count
        let error = await #expect(throws: DatabaseError.self) { try await queue.close() }
        #expect(error?.message == "refused")
        #expect(attempts.all.count > before)
        await fixture.thread.stop()
    }
}

@Sendable private func restoreRoom(_ database: Database) {
    // The pragma answers with the limit that holds; it cannot be refused.
    try? database.prepare("PRAGMA max_page_count = 1073741823").run()
}

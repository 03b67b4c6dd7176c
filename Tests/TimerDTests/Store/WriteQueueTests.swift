// SPDX-License-Identifier: Apache-2.0

import Locks
import Testing

@testable import SQLite
@testable import TimerD

@Suite("WriteQueue", .timeLimit(.minutes(1))) struct WriteQueueTests {
    private let fixture: WriteQueueFixture
    private let queue: WriteQueue

    init() throws {
        fixture = try WriteQueueFixture()
        queue = fixture.queue
    }

    @Test("A write returns what its body made, once it is committed")
    func writes() async throws {
        let id = try await queue.write { database in
            try WriteQueueFixture.insert(7)(database)
            return database.lastInsertRowID
        }
        #expect(id == 1)
        #expect(try fixture.stored() == [7])
        try await fixture.stop()
    }

    @Test("A write that throws hands its error on and stores nothing")
    func throwing() async throws {
        await #expect(throws: Refused.self) {
            try await queue.write { database in
                try WriteQueueFixture.insert(7)(database)
                throw Refused()
            }
        }
        #expect(try fixture.stored().isEmpty)
        #expect(queue.statistics.trouble == nil)
        try await fixture.stop()
    }

    @Test("What is queued together is committed together, in one commit")
    func groupCommit() async throws {
        let outcome = try await fixture.batch {
            for number in 0..<200 { fixture.submit(number) }
        }
        #expect(outcome.statistics.commits == 1)
        // The last one is the fixture's own.
        #expect(outcome.statistics.writes == 201)
        #expect(outcome.statistics.commitTimes.count == 1)
        #expect(outcome.statistics.commitTimes.sum > 0)
        #expect(outcome.stored == Array(0..<200))
        try await fixture.stop()
    }

    @Test(
        "A long write is committed alone, and what was written before it is told before it begins"
    )
    func longWrite() async throws {
        let (fixture, queue) = (fixture, queue)
        let outcome = try await fixture.batch {
            fixture.submit(1)
            fixture.submit(2)
            queue.submit(isLong: true) { database in
                let stored = try fixture.stored()
                try WriteQueueFixture.insert(3)(database)
                return (told: fixture.notes.all, stored: stored)
            } completion: { result in
                guard case .success(let seen) = result else { return fixture.notes.add("failed") }
                fixture.notes.add("3 after \(seen.told) and \(seen.stored)")
                // Not with what comes after it.
                fixture.notes.add("\((try? fixture.stored()) ?? [])")
            }
            fixture.submit(4)
        }
        #expect(outcome.notes == ["1", "2", "3 after [\"1\", \"2\"] and [1, 2]", "[1, 2, 3]", "4"])
        #expect(outcome.statistics.commits == 3)
        #expect(outcome.stored == [1, 2, 3, 4])
        try await fixture.stop()
    }

    @Test("Many tasks that write at once share commits, and none is lost")
    func concurrentWriters() async throws {
        try await withThrowingTaskGroup { group in
            for task in 0..<8 {
                group.addTask { [queue] in
                    for number in 0..<50 {
                        try await queue.write(WriteQueueFixture.insert(task * 50 + number))
                    }
                }
            }
            try await group.waitForAll()
        }
        let stored = try fixture.stored()
        #expect(stored.sorted() == Array(0..<400))
        for task in 0..<8 {
            let own = stored.filter { $0 / 50 == task }
            #expect(own == own.sorted())
        }
        #expect(queue.statistics.commits < 400)
        try await fixture.stop()
    }

    @Test(
        "A body that throws undoes itself alone, wherever it stands in the batch",
        arguments: [0, 1, 5, 9]
    )
    func undoneAlone(position: Int) async throws {
        let outcome = try await fixture.batch {
            for number in 0..<10 {
                if number == position {
                    fixture.submit("bad") { database in
                        try WriteQueueFixture.insert(100, 101)(database)
                        throw Refused()
                    }
                } else {
                    fixture.submit(number)
                }
            }
        }
        let others = (0..<10).filter { $0 != position }
        #expect(outcome.stored == others)
        var notes = others.map(String.init)
        notes.insert("bad refused", at: position)
        #expect(outcome.notes == notes)
        try await fixture.stop()
    }

    @Test("A batch of nothing but failures commits nothing and harms nobody")
    func allFail() async throws {
        inOneBatch(of: fixture.thread) {
            for _ in 0..<3 {
                fixture.submit("bad") { database in
                    try WriteQueueFixture.insert(100)(database)
                    throw Refused()
                }
            }
        }
        try await queue.write(WriteQueueFixture.insert(1))
        #expect(fixture.notes.all == ["bad refused", "bad refused", "bad refused"])
        #expect(try fixture.stored() == [1])
        try await fixture.stop()
    }

    @Test("A command that changes nothing makes no commit")
    func changesNothing() async throws {
        try await queue.barrier()
        #expect(queue.statistics.commits == 0)
        #expect(queue.statistics.writes == 0)
        try await fixture.stop()
    }

    @Test("A body sees what those before it in the same batch did")
    func seesEarlier() async throws {
        inOneBatch(of: fixture.thread) {
            fixture.submit(1)
            fixture.submit("count") { database in
                let count = try database.prepare("SELECT count(*) FROM numbers").value(as: Int.self)
                try WriteQueueFixture.insert((count ?? 0) + 100)(database)
            }
        }
        try await queue.barrier()
        #expect(try fixture.stored() == [1, 101])
        try await fixture.stop()
    }

    @Test("No completion is called before the commit, and they are called in order")
    func completionsAfterCommit() async throws {
        let counts = Locked<[Int]>([])
        let fixture = fixture
        inOneBatch(of: fixture.thread) {
            for number in 0..<5 {
                queue.submit(WriteQueueFixture.insert(number)) { _ in
                    let count = (try? fixture.stored().count) ?? -1
                    counts.withLock { $0.append(count) }
                }
                queue.record(WriteQueueFixture.insert(number)) {
                    let count = (try? fixture.stored().count) ?? -1
                    counts.withLock { $0.append(count) }
                }
            }
        }
        try await queue.barrier()
        #expect(counts.withLock { $0 } == Array(repeating: 10, count: 10))
        try await fixture.stop()
    }

    private actor Caller {
        let queue: WriteQueue
        private(set) var called: [Int] = []

        init(queue: WriteQueue) { self.queue = queue }

        func write(_ number: Int) async throws {
            called.append(number)
            try await queue.write(WriteQueueFixture.insert(number))
        }
    }

    @Test("Writes of one actor are queued in the order in which it called")
    func callersOrder() async throws {
        let caller = Caller(queue: queue)
        try await withThrowingTaskGroup { group in
            for number in 0..<300 {
                group.addTask { try await caller.write(number) }
            }
            try await group.waitForAll()
        }
        #expect(try await fixture.stored() == caller.called)
        try await fixture.stop()
    }

    @Test("Commands and records are stored in the order in which they came")
    func mixedOrder() async throws {
        inOneBatch(of: fixture.thread) {
            for number in 0..<100 {
                switch number % 3 {
                case 0: fixture.submit(number)
                case 1: fixture.record(number)
                default: fixture.record(number, within: .seconds(1000))
                }
            }
        }
        try await queue.barrier()
        #expect(try fixture.stored() == Array(0..<100))
        #expect(fixture.notes.all == (0..<100).map(String.init))
        try await fixture.stop()
    }

    @Test("A deferred record shares the next commit instead of making one")
    func deferredRecord() async throws {
        for number in 0..<5 { fixture.record(number, within: .seconds(1000)) }
        #expect(queue.statistics.commits == 0)
        try await queue.write(WriteQueueFixture.insert(5))
        #expect(try fixture.stored() == [0, 1, 2, 3, 4, 5])
        #expect(queue.statistics.commits == 1)
        try await fixture.stop()
    }

    @Test("A deferred record is stored by itself when its time has come")
    func deferredRecordAlone() async throws {
        await withCheckedContinuation { continuation in
            queue.record(within: .milliseconds(20), WriteQueueFixture.insert(1)) {
                continuation.resume()
            }
        }
        #expect(try fixture.stored() == [1])
        try await fixture.stop()
    }

    @Test("A barrier returns when all that was submitted before it is stored")
    func barrier() async throws {
        for number in 0..<1000 {
            if number % 2 == 0 { fixture.submit(number) } else { fixture.record(number) }
        }
        try await queue.barrier()
        #expect(try fixture.stored() == Array(0..<1000))
        #expect(fixture.notes.all.count == 1000)
        try await fixture.stop()
    }

    @Test("Closing stores what is queued and leaves one file; later commands are refused")
    func closes() async throws {
        for number in 0..<10 { fixture.submit(number) }
        fixture.record(10, within: .seconds(1000))
        try await queue.close()
        #expect(fixture.notes.all == (0...10).map(String.init))
        #expect(try fixture.folder.contents().keys.sorted() == ["timerd.db"])
        #expect(try fixture.stored() == Array(0...10))

        for isStopped in [false, true] {
            if isStopped { await fixture.thread.stop() }
            let error = await #expect(throws: DatabaseError.self) { try await queue.barrier() }
            #expect(error?.description == "the database is closed: '\(fixture.path)'")
            try await queue.close()
        }
    }

    @Test("A reader sees each write whose completion was called, and one state at a time")
    func reader() async throws {
        let reader = try Reader(path: fixture.path)
        try await queue.write(WriteQueueFixture.insert(1))
        let counts = try await reader.read { [fixture] database in
            let count = try database.prepare("SELECT count(*) FROM numbers")
            let first = try count.value(as: Int.self)
            try Outsider(fixture.path).execute("INSERT INTO numbers (number) VALUES (2)")
            return [first, try count.value(as: Int.self)]
        }
        #expect(counts == [1, 1])
        await #expect(throws: Refused.self) { try await reader.read { _ in throw Refused() } }
        let later = try await reader.read {
            try $0.prepare("SELECT count(*) FROM numbers").value(as: Int.self)
        }
        #expect(later == 2)
        await reader.close()
        await reader.close()
        let error = await #expect(throws: DatabaseError.self) { try await reader.read { _ in } }
        #expect(error?.description == "the database is closed: '\(fixture.path)'")
        try await fixture.stop()
    }

    @Test("What is called after completions costs no more after a million of them")
    func tellingOften() async throws {
        let calls = Locked(0)
        queue.onCompletions { calls.withLock { $0 += 1 } }
        // Wrapped once more by each, it would not fit on the stack any more.
        for _ in 1...1_000_000 { queue.endTelling() }
        #expect(calls.withLock { $0 } == 1_000_000)
        try await fixture.stop()
    }
}

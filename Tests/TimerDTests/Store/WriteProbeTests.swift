// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SQLite
@testable import TimerD

/// How an idle daemon finds out that its database takes writes again.
@Suite("WriteQueue's probe", .timeLimit(.minutes(1))) struct WriteProbeTests {
    private let fixture: WriteQueueFixture
    private let loop: HeldLoop

    init() throws {
        let held = try WriteQueueFixture.held()
        (fixture, loop) = (held.fixture, held.loop)
    }

    @Test("In trouble a small write is tried every 5 s, until one is stored; else none is")
    func probes() async throws {
        let queue = fixture.queue
        try await queue.write(WriteQueueFixture.insert(1))
        #expect(loop.delays.isEmpty)
        try await queue.write { try $0.execute("PRAGMA busy_timeout = 0") }
        let outsider = try Outsider(fixture.path)
        try outsider.execute("BEGIN IMMEDIATE")
        await #expect(throws: DatabaseError.self) {
            try await queue.write(WriteQueueFixture.insert(2))
        }
        await loop.settle()
        #expect(loop.delays == [.seconds(5)])
        await loop.pass()
        #expect(queue.statistics.trouble?.isBusy == true && loop.delays == [.seconds(5)])
        try outsider.execute("COMMIT")
        await loop.pass()
        #expect(queue.statistics.trouble == nil && loop.delays.isEmpty)
        #expect(fixture.reports.all == ["trouble: SQLITE_BUSY", "recovered"])
        #expect(try fixture.stored() == [1])
        try await fixture.stop()
    }

    @Test("A probe whose trouble is over by then writes nothing, nor does one of a closed queue")
    func late() async throws {
        let queue = fixture.queue
        let fail: @Sendable (Database) throws -> Void = {
            try $0.execute("INSERT INTO orphans VALUES (1)")
        }
        await #expect(throws: DatabaseError.self) { try await queue.write(fail) }
        try await queue.write(WriteQueueFixture.insert(1))
        await loop.settle()
        let commits = queue.statistics.commits
        await loop.pass()
        #expect(queue.statistics.commits == commits && loop.delays.isEmpty)
        await #expect(throws: DatabaseError.self) { try await queue.write(fail) }
        try await queue.close()
        await loop.pass()
        #expect(queue.statistics.commits == commits && loop.delays.isEmpty)
        await fixture.thread.stop()
    }
}

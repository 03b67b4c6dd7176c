// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Dispatch
import Foundation
import Testing

@testable import SQLite
@testable import TimerD

/// Copies and checks that are asked for while others are in progress.
@Suite("DatabaseMaintenance", .timeLimit(.minutes(1))) struct DatabaseMaintenanceTests {
    private let folder: TemporaryFolder
    private let care: DatabaseMaintenance

    init() throws {
        folder = try TemporaryFolder()
        let path = folder.file("timerd.db")
        let database = try Database(path: path, mode: .readWriteCreate)
        defer { database.close() }
        try Migrator(.released).migrate(database)
        care = DatabaseMaintenance(path: path)
    }

    @Test("They wait for each other in turn; one that is given up waits no longer")
    func turns() async throws {
        let (care, gate) = (care, DispatchSemaphore(value: 0))
        let notes = Notes()
        let (begun, isBegun) = AsyncStream.makeStream(of: Void.self)
        let first = Task {
            try await care.inTurn {
                isBegun.finish()
                gate.wait()
                notes.add("first")
            }
        }
        for await _ in begun {}
        // Each runs up to its place in the line before this goes on.
        let second = Task.immediate { try await care.inTurn { notes.add("second") } }
        let givenUp = Task.immediate { try await care.inTurn { notes.add("given up") } }
        let check = Task.immediate { try await care.check() }
        givenUp.cancel()
        await #expect(throws: CancellationError.self) { try await givenUp.value }
        // What is in progress goes on.
        first.cancel()
        #expect(notes.all.isEmpty)
        gate.signal()
        try await first.value
        try await second.value
        #expect(try await check.value == [])
        #expect(notes.all == ["first", "second"])
        let gone = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await care.inTurn { notes.add("gone") }
        }
        await #expect(throws: CancellationError.self) { try await gone.value }
    }

    @Test("What is too damaged for a check is told as what it found")
    func damaged() async throws {
        let path = folder.file("damaged.db")
        try Data(repeating: 0x78, count: 8192).write(to: URL(fileURLWithPath: path))
        let problems = try await DatabaseMaintenance(path: path).check()
        #expect(problems.count == 1 && problems[0].contains("is not an SQLite database"))
    }

    @Test("A word that its column does not allow is found, beside the connection that writes")
    func refusedWord() async throws {
        let database = try Database(path: folder.file("timerd.db"), mode: .readWriteCreate)
        defer { database.close() }
        try database.execute(
            """
            PRAGMA ignore_check_constraints = ON;
            INSERT INTO jobs (id, owner_id, state, clock) VALUES (1, 0, 'schedulee', 'wall');
            """
        )
        let problems = try await care.check()
        #expect(problems == ["CHECK constraint failed in jobs"])
    }

    @Test("A check leaves the log to the daemon, also where it is the last to close the file")
    func log() async throws {
        let path = folder.file("timerd.db")
        var daemon: OpaquePointer?
        try #require(sqlite3_open_v2(path, &daemon, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK)
        let row = "INSERT INTO owners (id, uid, name, live) VALUES (1, 1, 'ann', 0)"
        #expect(sqlite3_exec(daemon, row, nil, nil, nil) == SQLITE_OK)
        let check = try Database(path: path, mode: .check)
        #expect(throws: DatabaseError.self) { try check.execute("DELETE FROM owners") }
        sqlite3_close(daemon)
        check.close()
        let log = try FileManager.default.attributesOfItem(atPath: path + "-wal")
        #expect((log[.size] as? Int).map { $0 > 0 } == true)
    }

    @Test(
        "A job that waits for a fire that is gone, another's or over is told",
        arguments: [
            ("(14, 1, 0, 5, 5, 'claimed')", true), ("(14, 1, 0, 5, 5, 'waiting')", true),
            ("(14, 1, 0, 5, 5, 'fired')", false), ("(14, 2, 0, 5, 5, 'claimed')", false),
            ("(15, 1, 0, 5, 5, 'claimed')", false),
        ]
    )
    func lostClaims(fire: String, isSound: Bool) async throws {
        let database = try Database(path: folder.file("timerd.db"), mode: .readWriteCreate)
        defer { database.close() }
        try database.execute(
            """
            INSERT INTO jobs (id, owner_id, state, clock, claim_id)
                VALUES (1, 0, 'scheduled', 'wall', 14), (2, 0, 'scheduled', 'wall', NULL);
            INSERT INTO fires (id, job_id, owner_id, fire_date_us, wall_date_us, state) VALUES \(fire);
            """
        )
        let lost =
            "job 1 waits for its fire 14, which is not there, and fires again once it is paused and resumed"
        #expect(try await care.check() == (isSound ? [] : [lost]))
    }
}

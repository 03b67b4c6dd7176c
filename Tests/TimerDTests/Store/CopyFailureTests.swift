// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import Logging
import Testing

@testable import SQLite
@testable import TimerD

/// A copy of shared jobs that fails, while what keeps them is well.
@Suite("A copy that fails", .timeLimit(.minutes(1))) struct CopyFailureTests {
    /// Stores all that it is given.
    final class WillingHome: SharedHome {
        private(set) var loss: DatabaseError?

        func begin(_ database: Database) throws(DatabaseError) { if let loss { throw loss } }
        func commit(_ database: Database) throws(DatabaseError) { if let loss { throw loss } }
        func abandon() {}
        func lose(_ reason: DatabaseError) { loss = reason }
    }

    @Test("A write is stored that the copy does not take, and nothing is written from then on")
    func full() throws {
        let disk = CrashDisk(name: "copy-full", seed: 1)
        let database = try Database(path: CrashDisk.database, mode: .copy, on: disk)
        defer { database.close() }
        try database.execute("CREATE TABLE t (a BLOB)")
        let home = WillingHome()
        database.home = home
        try database.begin()
        try database.prepare("INSERT INTO t VALUES (?1)").run([UInt8](repeating: 7, count: 9000))
        disk.fail(at: disk.operations + 1, .full)
        try database.commit()
        #expect(!database.isInTransaction)
        let reason = "the copy of the jobs '\(CrashDisk.database)' cannot be written: "
        #expect(home.loss?.sentence.hasPrefix(reason) == true, "\(home.loss as Any)")
        #expect(home.loss?.isOfCopy == true)
        disk.neverFail()
        disk.repair()
        let next = #expect(throws: DatabaseError.self) { try database.begin() }
        database.rollback()
        #expect(next?.sentence == home.loss?.sentence)
    }

    @Test("A copy that is taken away ends a node's lead, and not its daemon")
    func takenAway() async throws {
        let folder = try TemporaryFolder()
        let lost = Locked<DatabaseError?>(nil)
        let store = try Self.store(in: folder) { error in lost.withLock { $0 = error } }
        unlink(folder.file("timerd.db"))
        // It is stored where the jobs are.
        try await store.writer.write { try $0.execute("UPDATE daemon_state SET paused = 1") }
        let error = await #expect(throws: DatabaseError.self) {
            try await store.writer.write { try $0.execute("UPDATE daemon_state SET paused = 2") }
        }
        #expect(error?.isOfCopy == true)
        // It is told behind the commit's answer.
        try? await store.close()
        let told = try #require(lost.withLock { $0 })
        #expect(told.isOfCopy)
        #expect(told.sentence.contains("timerd.db' was removed"))
        #expect(!told.sentence.contains("timerd ends"))
    }

    private static func store(
        in folder: TemporaryFolder,
        onLost: @escaping @Sendable (DatabaseError) -> Void
    ) throws -> Store {
        let database = try Database(path: folder.file("timerd.db"), mode: .copy)
        try Migrator(.released).migrate(database)
        database.home = WillingHome()
        return try Store(
            database,
            log: Logger(label: "test"),
            now: TestScheduler.start,
            onLost: onLost
        )
    }
}

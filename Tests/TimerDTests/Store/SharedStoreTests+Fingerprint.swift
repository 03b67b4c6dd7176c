// SPDX-License-Identifier: Apache-2.0

import Postgres
import SQLite
import TestPostgres
import Testing

@testable import TimerD

/// Tables in PostgreSQL of another build.
extension SharedStoreTests {
    @Test(
        "Tables in PostgreSQL of another build under the same number are refused, and nothing is changed",
        arguments: [
            (
                "UPDATE timerd.store SET fingerprint = 26", "with the fingerprint 0x1a, and",
                "UPDATE timerd.store SET fingerprint = "
            ),
            (
                "ALTER TABLE timerd.store DROP COLUMN fingerprint", "with no fingerprint, and",
                "ALTER TABLE timerd.store ADD COLUMN fingerprint bigint NOT NULL DEFAULT "
            ),
        ]
    )
    func otherBuild(change: String, words: String, undo: String) throws {
        let folder = try TemporaryFolder()
        let address = try SharedTestStore.current().address(of: folder.path)
        try SharedTestStore.current().database(in: folder.path).close()
        let connection = try PostgresHome.connect(address, within: .seconds(30))
        defer { connection.close() }
        let limit = Duration.seconds(30)
        let row = "SELECT fingerprint, number FROM timerd.store"
        let stored = try connection.execute(row, within: limit)
        let made = try #require(stored.integer(0, 0))
        #expect(made != 0)
        let lease = try connection.execute("SELECT epoch FROM timerd.lease", within: limit)
        let epoch = try #require(lease.integer(0, 0))
        let copy = SharedCopy(at: folder.path + "/copy.db")

        try connection.script(change, within: limit)
        let error = #expect(throws: DatabaseError.self) {
            try copy.make(connection, node: "test", epoch: epoch)
        }
        #expect(error?.sentence.contains(words) == true, "\(error as Any)")
        let own = "this timerd's has 0x" + String(UInt64(bitPattern: made), radix: 16)
        #expect(error?.sentence.contains(own) == true, "\(error as Any)")
        // Another node may be of the build that made them: this one stands by, and does not end.
        #expect(error?.isLasting == false)

        try connection.script(undo + String(made), within: limit)
        let again = try copy.make(connection, node: "test", epoch: epoch)
        again.database.close()
        #expect(again.number == stored.integer(0, 1))
    }

    @Test(
        "Without the row of timerd.store a node stands by, and it leads with the one that it tells of"
    )
    func rowRemoved() throws {
        let folder = try TemporaryFolder()
        let address = try SharedTestStore.current().address(of: folder.path)
        try SharedTestStore.current().database(in: folder.path).close()
        let before = try stored(folder.path)
        let limit = Duration.seconds(30)
        let connection = try PostgresHome.connect(address, within: limit)
        defer { connection.close() }
        let lease = try connection.execute("SELECT epoch FROM timerd.lease", within: limit)
        let epoch = try #require(lease.integer(0, 0))
        let copy = SharedCopy(at: folder.path + "/copy.db")

        try connection.script("DELETE FROM timerd.store", within: limit)
        let error = #expect(throws: DatabaseError.self) {
            try copy.make(connection, node: "test", epoch: epoch)
        }
        #expect(error?.sentence == "timerd.store in PostgreSQL has 0 rows, and should have one")
        // A restore may be about to bring it: this one stands by, and does not end.
        #expect(error?.isLasting == false)

        try connection.script(NodeDaemon.makingStore, within: limit)
        let again = try copy.make(connection, node: "test", epoch: epoch)
        let found = try rows(of: again.database)
        again.database.close()
        #expect(again.number == 0 && found["jobs"] == before["jobs"])
        let skipped = "SELECT table_id <> 0 FROM timerd.store"
        #expect(try connection.execute(skipped, within: limit).boolean(0, 0) == true)
    }

    @Test("Tables in PostgreSQL of another build that hold no jobs can go, and the refusal says so")
    func otherBuildWithoutJobs() throws {
        let folder = try TemporaryFolder()
        let address = try SharedTestStore.current().address(of: folder.path)
        try SharedTestStore.current().database(in: folder.path).close()
        let limit = Duration.seconds(30)
        let connection = try PostgresHome.connect(address, within: limit)
        defer { connection.close() }
        try connection.script(
            "UPDATE timerd.store SET version = 0; ALTER TABLE timerd.store DROP COLUMN fingerprint",
            within: limit
        )
        let error = #expect(throws: DatabaseError.self) {
            try SharedCopy(at: folder.path + "/copy.db").make(connection, node: "test", epoch: 1)
        }
        #expect(error?.sentence.contains("hold no jobs; remove that schema") == true)
    }
}

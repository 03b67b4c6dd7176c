// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import SQLite
@testable import TimerD

/// A transaction that is larger than the cache of SQLite.
@Suite("Spilled cache", .timeLimit(.minutes(1))) struct SpilledCacheTests {
    @Test(
        "A commit after a large savepoint was undone is there after a crash, and so are those after it"
    )
    func undone() throws {
        let folder = try TemporaryFolder()
        let database = try Database(path: folder.file("t.db"), mode: .readWriteCreate)
        try database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)")
        let insert = try database.prepare("INSERT INTO t VALUES (?1, ?2)")
        let update = try database.prepare("UPDATE t SET a = ?2 WHERE id = ?1")
        try database.begin()
        try insert.run(1, "a")
        try database.execute("SAVEPOINT large")
        // 8 MB, four times the cache; the later ones are written once more.
        for id in 2...2000 { try insert.run(id, String(repeating: "b", count: 4000)) }
        for id in 600...2000 { try update.run(id, String(repeating: "c", count: 4000)) }
        try database.execute("ROLLBACK TO large")
        try database.execute("RELEASE large")
        try insert.run(2, String(repeating: "d", count: 100_000))
        try database.commit()
        try database.begin()
        try insert.run(3, "e")
        try database.commit()

        // What a crash leaves: the file and its log, without the index of the log.
        for suffix in ["", "-wal"] {
            let file = folder.file("t.db" + suffix)
            try FileManager.default.copyItem(atPath: file, toPath: folder.file("copy.db" + suffix))
        }
        database.close()
        let copy = try Database(path: folder.file("copy.db"), mode: .readWriteCreate)
        defer { copy.close() }
        #expect(
            try copy.prepare("SELECT id FROM t ORDER BY id").all { try $0.get(0) } == [1, 2, 3]
        )
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import SQLite
@testable import TimerD

/// What lies under the name at which a new database is made before it gets its own.
@Suite("Where a database is made") struct UnfinishedDatabaseTests {
    private let folder: TemporaryFolder
    private let path: String
    private var new: String { path + ".new" }

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("timerd.db")
    }

    @Test(
        "What a crash left of a database that had not got its name yet is replaced",
        arguments: [0, 10, 99, 512, 2048],
        [false, true]
    )
    func unfinished(size: Int, isZeros: Bool) throws {
        try make()
        let page = try #require(try folder.contents()["timerd.db"]).prefix(size)
        for name in try folder.contents().keys { unlink(folder.file(name)) }
        try (isZeros ? Data(count: size) : page).write(to: new)
        try make()
        #expect(try folder.contents().keys.sorted() == ["timerd.db"])
    }

    @Test("A database that somebody has put there is left alone")
    func database() throws {
        try make()
        try FileManager.default.moveItem(atPath: path, toPath: new)
        try expectLeftAlone()
    }

    @Test("A small file of another program is left alone")
    func small() throws {
        for text in ["SQLite is what these notes are about", String(repeating: "a", count: 2048)] {
            try Data(text.utf8).write(to: new)
            try expectLeftAlone()
        }
        unlink(new)
        try Outsider(new).execute("PRAGMA page_size = 512; CREATE TABLE t (a)")
        try expectLeftAlone()
    }

    private func make() throws {
        let database = try Database(path: path, mode: .readWriteCreate)
        try database.execute("CREATE TABLE t (a)")
        database.close()
    }

    private func expectLeftAlone() throws {
        let before = try folder.contents()
        let error = #expect(throws: DatabaseError.self) {
            try Database(path: path, mode: .readWriteCreate)
        }
        #expect(error?.isLasting == true)
        let size = before["timerd.db.new"]?.count ?? 0
        let words =
            "cannot create '\(path)': '\(new)' lies beside it with \(size) bytes, and was left alone"
        #expect(error?.sentence.hasPrefix(words) == true, "\(error as Any)")
        #expect(try folder.contents() == before)
    }
}

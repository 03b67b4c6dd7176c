// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation
import Testing

@testable import SQLite
@testable import TimerD

/// Files that are refused, or that a crash left behind.
@Suite("Database files") struct DatabaseFileTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("timerd.db")
    }

    enum Foreign: String, CaseIterable, CustomTestStringConvertible {
        case text, oneByte, zeros, otherProgram, noApplicationID, unfinishedLog

        var testDescription: String { rawValue }

        var message: String {
            switch self {
            case .text, .oneByte, .zeros: "is not an SQLite database, and was left alone"
            case .otherProgram:
                "is a database of another program (application id 42), and was left alone"
            case .noApplicationID, .unfinishedLog:
                "is a database of another program (application id 0), and was left alone"
            }
        }

        func make(at path: String) throws {
            switch self {
            case .text:
                try Data("#!/bin/sh\n".utf8 + Array(repeating: 65, count: 500)).write(to: path)
            case .oneByte: try Data([0]).write(to: path)
            case .zeros: try Data(count: 8192).write(to: path)
            case .otherProgram:
                try Outsider(path).execute("PRAGMA application_id = 42; CREATE TABLE t (a)")
            case .noApplicationID: try Outsider(path).execute("CREATE TABLE t (a)")
            case .unfinishedLog:
                // As its program would leave it when killed: committed rows in the log alone.
                let other = try Outsider(path + ".open")
                try other.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a)")
                try FileManager.default.copyItem(atPath: path + ".open", toPath: path)
                try FileManager.default.copyItem(atPath: path + ".open-wal", toPath: path + "-wal")
            }
        }
    }

    @Test("A file that is not ours is refused and left as it was", arguments: Foreign.allCases)
    func foreign(file: Foreign) throws {
        try file.make(at: path)
        let before = try folder.contents()
        for mode in [Database.Mode.readWriteCreate, .readOnly] {
            let error = #expect(throws: DatabaseError.self) { try Database(path: path, mode: mode) }
            #expect(error?.description == "'\(path)' \(file.message)")
            #expect(error?.isCorrupt == true)
            #expect(try folder.contents() == before)
        }
    }

    @Test("A directory, a pipe and a missing folder are refused by name")
    func notFiles() throws {
        expectError("cannot open '\(folder.path)': is a directory") {
            try Database(path: folder.path, mode: .readWriteCreate)
        }
        let pipe = folder.file("pipe")
        mkfifo(pipe, 0o600)
        expectError("cannot open '\(pipe)': not a regular file") {
            try Database(path: pipe, mode: .readWriteCreate)
        }
        let inNowhere = folder.file("nowhere/timerd.db")
        expectError("cannot create '\(inNowhere)': no such file or directory") {
            try Database(path: inNowhere, mode: .readWriteCreate)
        }
        expectError("cannot open '\(path)': no such file or directory") {
            try Database(path: path, mode: .readOnly)
        }
        #expect(try folder.contents().keys.sorted() == ["pipe"])
    }

    // Root may read and write what it likes, so it proves nothing there.
    @Test(
        "A file that may not be read or written is refused with the reason",
        .enabled(if: geteuid() != 0),
        arguments: [(0o000, "cannot open"), (0o400, "cannot write")]
    )
    func notPermitted(mode: Int, failed: String) throws {
        try Database(path: path, mode: .readWriteCreate).close()
        let before = try folder.contents().keys
        chmod(path, mode_t(mode))
        expectError("\(failed) '\(path)': permission denied") {
            try Database(path: path, mode: .readWriteCreate)
        }
        #expect(try folder.contents().keys == before)
    }

    /// Whether the file system and a container let root make a file immutable.
    private static let canBeImmutable: Bool = {
        guard geteuid() == 0, let folder = try? TemporaryFolder() else { return false }
        let file = folder.file("trial")
        close(creat(file, 0o600))
        return setImmutable(file, true) && setImmutable(file, false)
    }()

    /// Makes a file immutable, or lets it be written again; false where that is not possible.
    private static func setImmutable(_ path: String, _ isImmutable: Bool) -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        // FS_IOC_GETFLAGS, FS_IOC_SETFLAGS and FS_IMMUTABLE_FL: ioctl_iflags(2).
        var flags: CInt = 0
        guard ioctl(file, 0x8008_6601, &flags) == 0 else { return false }
        flags = isImmutable ? flags | 0x10 : flags & ~0x10
        return ioctl(file, 0x4008_6602, &flags) == 0
    }

    @Test(
        "A file that may not be written for another reason than its mode is refused with that reason",
        .enabled(if: canBeImmutable, "no file can be made immutable here")
    )
    func immutable() throws {
        try Database(path: path, mode: .readWriteCreate).close()
        try #require(Self.setImmutable(path, true))
        defer { _ = Self.setImmutable(path, false) }
        expectError("cannot write '\(path)': operation not permitted") {
            try Database(path: path, mode: .readWriteCreate)
        }
    }

    enum Damage: String, CaseIterable, CustomTestStringConvertible {
        case truncated, schemaOverwritten

        var testDescription: String { rawValue }
    }

    @Test("A corrupt database is refused and left as it was", arguments: Damage.allCases)
    func corrupt(damage: Damage) throws {
        try makeDatabase()
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        switch damage {
        case .truncated: try file.truncate(atOffset: 4096)
        case .schemaOverwritten:
            try file.seek(toOffset: 100)
            try file.write(contentsOf: Data(repeating: 0xee, count: 3996))
        }
        try file.close()
        let before = try folder.contents()["timerd.db"]
        let error = #expect(throws: DatabaseError.self) {
            try Database(path: path, mode: .readWriteCreate)
        }
        #expect(error?.isCorrupt == true)
        #expect(
            error?.description
                == "database '\(path)' is corrupt (database disk image is malformed), and was left"
                + " alone; restore a backup, or move it away to begin anew"
        )
        #expect(try folder.contents()["timerd.db"] == before)
    }

    @Test("The log of a corrupt database is not played into it")
    func corruptWithLog() throws {
        try makeDatabase()
        let database = try Database(path: path, mode: .readWriteCreate)
        try database.execute("INSERT INTO t VALUES ('b')")
        let crashed = folder.file("crashed.db")
        try copyAsCrashed(to: crashed)
        let file = try #require(FileHandle(forUpdatingAtPath: crashed))
        try file.seek(toOffset: 100)
        try file.write(contentsOf: Data(repeating: 0xee, count: 3996))
        try file.close()
        let before = try folder.contents()
        let error = #expect(throws: DatabaseError.self) {
            try Database(path: crashed, mode: .readWriteCreate)
        }
        #expect(error?.isCorrupt == true)
        #expect(try folder.contents()["crashed.db"] == before["crashed.db"])
        #expect(try folder.contents()["crashed.db-wal"] == before["crashed.db-wal"])
    }

    @Test("What was committed before a crash is there after it, even if in the log alone")
    func recovers() throws {
        try makeDatabase()
        let database = try Database(path: path, mode: .readWriteCreate)
        try database.execute("INSERT INTO t VALUES ('b')")
        let crashed = folder.file("crashed.db")
        try copyAsCrashed(to: crashed)
        let reopened = try Database(path: crashed, mode: .readWriteCreate)
        #expect(try reopened.prepare("SELECT count(*) FROM t").value(as: Int.self) == 101)
    }

    @Test("A log whose database is missing or empty is refused, for SQLite would delete it")
    func strayLog() throws {
        try makeDatabase()
        let database = try Database(path: path, mode: .readWriteCreate)
        try database.execute("INSERT INTO t VALUES ('b')")
        let crashed = folder.file("crashed.db")
        try copyAsCrashed(to: crashed)
        try FileManager.default.removeItem(atPath: crashed)
        for isEmpty in [false, true] {
            if isEmpty { try Data().write(to: crashed) }
            let before = try folder.contents()
            let error = #expect(throws: DatabaseError.self) {
                try Database(path: crashed, mode: .readWriteCreate)
            }
            #expect(error?.description.contains("'\(crashed)' is missing or empty") == true)
            #expect(try folder.contents() == before)
        }
    }

    @Test("An empty file is refused: a database has its name only once it is whole")
    func emptyFile() throws {
        try Data().write(to: path)
        let before = try folder.contents()
        for mode in [Database.Mode.readWriteCreate, .readOnly] {
            expectError(
                "database '\(path)' is empty, and was left alone; restore a backup, or move it away to begin anew;"
                    + " a restore that was killed leaves it so, and what was there as '\(path).replaced-DATE'"
            ) {
                try Database(path: path, mode: mode)
            }
            #expect(try folder.contents() == before)
        }
    }

    @Test("A symbolic link that leads nowhere is not replaced by a database")
    func danglingLink() throws {
        #expect(symlink(folder.file("elsewhere.db"), path) == 0)
        expectError("cannot create '\(path)': file exists") {
            try Database(path: path, mode: .readWriteCreate)
        }
    }

    @Test("A database that was moved away from its log is refused where symbolic links lead to it")
    func movedFromLog() throws {
        try makeDatabase()
        let database = try Database(path: path, mode: .readWriteCreate)
        try database.execute("INSERT INTO t VALUES ('b')")
        let (crashed, outer) = (folder.file("crashed.db"), folder.file("link.db"))
        try copyAsCrashed(to: crashed)
        let files = FileManager.default
        try files.createDirectory(atPath: folder.file("new"), withIntermediateDirectories: false)
        try files.moveItem(atPath: crashed, toPath: folder.file("new/crashed.db"))
        #expect(symlink("new/crashed.db", crashed) == 0)
        #expect(symlink(crashed, outer) == 0)
        for link in [crashed, outer] {
            let error = #expect(throws: DatabaseError.self) {
                try Database(path: link, mode: .readWriteCreate)
            }
            #expect(error?.isLasting == true)
            #expect(error?.sentence.contains("'\(crashed)-wal' holds ") == true)
        }
        // Put back, it has all again.
        #expect(unlink(crashed) == 0)
        try files.moveItem(atPath: folder.file("new/crashed.db"), toPath: crashed)
        let again = try Database(path: outer, mode: .readWriteCreate)
        #expect(try again.prepare("SELECT count(*) FROM t").value(as: Int.self) == 101)
    }

    @Test("A symbolic link beside which another leads to the database's log is no other database's")
    func linkedLog() throws {
        try makeDatabase()
        let database = try Database(path: path, mode: .readWriteCreate)
        try database.execute("INSERT INTO t VALUES ('b')")
        let (crashed, link) = (folder.file("crashed.db"), folder.file("link.db"))
        try copyAsCrashed(to: crashed)
        #expect(symlink(crashed, link) == 0)
        #expect(symlink(crashed + "-wal", link + "-wal") == 0)
        let linked = try Database(path: link, mode: .readWriteCreate)
        #expect(try linked.prepare("SELECT count(*) FROM t").value(as: Int.self) == 101)
    }

    @Test("A database whose first transaction was cut short opens as it was before")
    func cutShort() throws {
        // In the middle of the first transaction: page 1 is written, its journal still there.
        let other = try Outsider(path)
        try other.execute("PRAGMA application_id = 1953329764; PRAGMA cache_size = 1; BEGIN")
        try other.execute("CREATE TABLE t (a); INSERT INTO t SELECT hex(randomblob(4000))")
        try other.execute("INSERT INTO t SELECT hex(randomblob(4000)) FROM t, t, t")
        let crashed = folder.file("crashed.db")
        try FileManager.default.copyItem(atPath: path, toPath: crashed)
        try FileManager.default.copyItem(atPath: path + "-journal", toPath: crashed + "-journal")
        let database = try Database(path: crashed, mode: .readWriteCreate)
        #expect(try database.prepare("SELECT count(*) FROM sqlite_schema").value() == 0)
    }

    @Test("A path with characters that mean something in a URI is a path")
    func oddPath() throws {
        let odd = folder.file("a?mode=memory&b#c%20'd é.db")
        let database = try Database(path: odd, mode: .readWriteCreate)
        try database.execute("CREATE TABLE t (a)")
        #expect(FileManager.default.fileExists(atPath: odd))
    }

    /// A hundred rows over several pages, closed.
    private func makeDatabase() throws {
        let database = try Database(path: path, mode: .readWriteCreate)
        try database.execute("CREATE TABLE t (a TEXT)")
        let insert = try database.prepare("INSERT INTO t VALUES (?)")
        for _ in 0..<100 {
            try insert.run(String(repeating: "a", count: 1000))
        }
    }

    /// The file and its log as they are while the database is open.
    private func copyAsCrashed(to crashed: String) throws {
        try FileManager.default.copyItem(atPath: path, toPath: crashed)
        try FileManager.default.copyItem(atPath: path + "-wal", toPath: crashed + "-wal")
    }
}

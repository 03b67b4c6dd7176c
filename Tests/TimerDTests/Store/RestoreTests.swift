// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LinuxSystem
import Schedules
import Testing

@testable import SQLite
@testable import TimerD

/// `timerd --restore`.
@Suite("Restore") struct RestoreTests {
    private let folder: TemporaryFolder
    private let path: String
    private let backup: String

    init() async throws {
        folder = try TemporaryFolder()
        path = folder.file("timerd.db")
        backup = folder.file("backup.db")
        let other = folder.file("other.db")
        try Self.make(other, paused: 41)
        _ = try DatabaseCopy(of: other).write(to: backup, replacing: false, at: TestScheduler.start)
    }

    /// A database of ours, told from others by a number in it.
    private static func make(_ path: String, paused: Int) throws {
        let store = try Database(path: path, mode: .readWriteCreate)
        defer { store.close() }
        try Migrator(.released).migrate(store)
        try store.execute("UPDATE daemon_state SET paused = \(paused)")
    }

    private func mark(of path: String) throws -> Int? {
        let database = try Database(path: path, mode: .readOnly)
        defer { database.close() }
        return try database.prepare("SELECT paused FROM daemon_state").value()
    }

    @Test("puts the copy in the place of the database, and keeps that under another name")
    func replaces() throws {
        try Self.make(path, paused: 7)
        let old = try #require(try DatabaseRestore(database: path).restore(backup))
        #expect(try mark(of: path) == 41)
        #expect(try mark(of: old) == 7)
        #expect(try mark(of: backup) == 41)
    }

    @Test("of a backup that is not there is a matter for somebody, and makes nothing")
    func missing() throws {
        let lost = folder.file("mispelt.db")
        let error = #expect(throws: DaemonError.self) {
            try DatabaseRestore(database: path).restore(lost)
        }
        #expect(error?.status == .configuration)
        #expect(error?.description == "cannot read '\(lost)': no such file or directory")
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("replaces the file that a link leads to, and no link")
    func link() throws {
        let (files, real) = (FileManager.default, folder.file("real.db"))
        try files.createSymbolicLink(atPath: path, withDestinationPath: real)
        #expect(throws: DaemonError.self) { try DatabaseRestore(database: path).restore(backup) }
        #expect(!files.fileExists(atPath: real))
        try Self.make(real, paused: 7)
        let old = try #require(try DatabaseRestore(database: path).restore(backup))
        #expect(old.hasPrefix(real + ".replaced-"))
        #expect(try mark(of: old) == 7)
        #expect(try mark(of: real) == 41)
        #expect(try files.destinationOfSymbolicLink(atPath: path) == real)
    }

    @Test("refuses a link beside which an old log lies, with which no daemon would start")
    func linkWithLog() throws {
        let real = folder.file("real.db")
        try Self.make(real, paused: 7)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: real)
        try Data("old".utf8).write(to: URL(fileURLWithPath: path + "-wal"))
        let error = #expect(throws: DaemonError.self) {
            try DatabaseRestore(database: path).restore(backup)
        }
        #expect(error?.description.contains("'\(path)-wal' holds 3 bytes") == true)
        #expect(try mark(of: real) == 7)
        #expect(try replaced() == [])
    }

    @Test("needs no database before it")
    func begins() throws {
        #expect(try DatabaseRestore(database: path).restore(backup) == nil)
        #expect(try mark(of: path) == 41)
    }

    @Test("takes the place of a database that cannot be read any more, and keeps its bytes")
    func replacesDamaged() throws {
        try Self.make(path, paused: 7)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes.replaceSubrange(0..<2048, with: Data(repeating: 0xff, count: 2048))
        try bytes.write(to: URL(fileURLWithPath: path))
        let old = try #require(try DatabaseRestore(database: path).restore(backup))
        #expect(try mark(of: path) == 41)
        #expect(try Data(contentsOf: URL(fileURLWithPath: old)) == bytes)
    }

    @Test("refuses a backup that is damaged, and changes nothing")
    func refusesDamaged() throws {
        try Self.make(path, paused: 7)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: backup))
        bytes.replaceSubrange(8192..<12_288, with: Data(repeating: 0xff, count: 4096))
        try bytes.write(to: URL(fileURLWithPath: backup))
        let restore = DatabaseRestore(database: path)
        let error = #expect(throws: DaemonError.self) { try restore.restore(backup) }
        #expect(error?.status == .configuration)
        try Data("hello".utf8).write(to: URL(fileURLWithPath: backup))
        let other = #expect(throws: DaemonError.self) { try restore.restore(backup) }
        #expect(other?.status == .configuration)
        #expect(try mark(of: path) == 7)
    }

    @Test("refuses while a daemon has the database")
    func refusesInUse() throws {
        try Self.make(path, paused: 7)
        let lock = try DatabaseLock(database: path)
        let error = #expect(throws: DaemonError.self) {
            try DatabaseRestore(database: path).restore(backup)
        }
        #expect(error?.status == .unavailable)
        #expect(error?.description.contains("is in use by process \(getpid())") == true)
        lock.release()
        #expect(try mark(of: path) == 7)
    }

    /// What in the folder is called as a database that was replaced.
    private func replaced() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.contains(".replaced-") }
    }

    /// A database that cannot be opened, with a log and a journal beside it: what each holds.
    private func makeDamaged() throws -> [String: Data] {
        let files = ["", "-wal", "-journal"].map { ($0, Data("damaged\($0)".utf8)) }
        for (ending, bytes) in files { try bytes.write(to: URL(fileURLWithPath: path + ending)) }
        return Dictionary(uniqueKeysWithValues: files)
    }

    @Test(
        "refuses a backup with a log beside it, which a stranger may have put there",
        arguments: ["-wal", "-shm", "-journal"]
    )
    func refusesLog(ending: String) throws {
        try Self.make(path, paused: 7)
        try Data("log".utf8).write(to: URL(fileURLWithPath: backup + ending))
        let error = #expect(throws: DaemonError.self) {
            try DatabaseRestore(database: path).restore(backup)
        }
        #expect(error?.status == .configuration)
        let words = "cannot restore '\(backup)': '\(backup)\(ending)' lies beside it; "
        #expect(error?.description.hasPrefix(words) == true, "\(error as Any)")
        #expect(error?.description.contains("'PRAGMA wal_checkpoint(TRUNCATE)'") == true)
        #expect(try mark(of: path) == 7)
    }

    @Test(
        "refuses a backup on which no daemon could start",
        arguments: [
            "PRAGMA user_version = 0", "PRAGMA user_version = -3", "PRAGMA user_version = 9999",
            "DELETE FROM daemon_state", "DROP TABLE daemon_state", "DROP TABLE zone_rules",
            "ALTER TABLE outbox ADD COLUMN more INTEGER",
        ]
    )
    func refusesUnreadable(damage: String) throws {
        try Self.make(path, paused: 7)
        let file = try Database(path: backup, mode: .readWriteCreate)
        try file.execute("PRAGMA foreign_keys = OFF; \(damage)")
        file.close()
        let error = #expect(throws: DaemonError.self) {
            try DatabaseRestore(database: path).restore(backup)
        }
        #expect(error?.status == .configuration, "\(error as Any)")
        #expect(error?.description.hasPrefix("cannot restore '\(backup)': ") == true)
        // The words are of the backup, and not of its copy.
        #expect(error?.description.contains(".timerd-copy") == false, "\(error as Any)")
        #expect(try mark(of: path) == 7)
        #expect(try replaced() == [])
    }

    @Test("refuses while another program reads what the database's log alone has")
    func refusesRead() throws {
        try Self.make(path, paused: 7)
        let reader = try Database(path: path, mode: .readOnly)
        try reader.execute("BEGIN; SELECT paused FROM daemon_state")
        let writer = try Database(path: path, mode: .readWriteCreate)
        try writer.execute("UPDATE daemon_state SET paused = 8")
        writer.close()
        let error = #expect(throws: DaemonError.self) {
            try DatabaseRestore(database: path).restore(backup)
        }
        #expect(error?.status == .unavailable)
        let words = "cannot replace '\(path)': '\(path)-wal' stays beside it"
        #expect(error?.description.hasPrefix(words) == true, "\(error as Any)")
        reader.close()
        #expect(try mark(of: path) == 8)
        #expect(try replaced() == [])
    }

    @Test("plays no log and no journal of a database that cannot be opened into the copy")
    func keepsLogs() throws {
        let damaged = try makeDamaged()
        let old = try #require(try DatabaseRestore(database: path).restore(backup))
        for (ending, bytes) in damaged {
            #expect(FileManager.default.contents(atPath: old + ending) == bytes)
        }
        #expect(TrustedPath.log(beside: path) == nil)
        #expect(try mark(of: path) == 41)
    }

    @Test("names what an earlier one has kept that was killed and left an empty file")
    func again() throws {
        _ = try makeDamaged()
        let old = try #require(try DatabaseRestore(database: path).restore(backup))
        let kept = try replaced().sorted()
        try Data().write(to: URL(fileURLWithPath: path))
        #expect(try DatabaseRestore(database: path).restore(backup) == old)
        #expect(try replaced().sorted() == kept)
        #expect(try mark(of: path) == 41)
    }

    @Test("names what one has kept that was killed before it removed the logs, which are kept once")
    func killedBeforeLogs() throws {
        let damaged = try makeDamaged()
        let old = try #require(try DatabaseRestore(database: path).restore(backup))
        let kept = try replaced().sorted()
        try Data().write(to: URL(fileURLWithPath: path))
        for ending in ["-wal", "-journal"] { #expect(Glibc.link(old + ending, path + ending) == 0) }
        #expect(try DatabaseRestore(database: path).restore(backup) == old)
        #expect(try replaced().sorted() == kept)
        for (ending, bytes) in damaged {
            #expect(FileManager.default.contents(atPath: old + ending) == bytes)
        }
        #expect(TrustedPath.log(beside: path) == nil)
        #expect(try mark(of: path) == 41)
    }

    @Test("removes the second name that one which was killed has given to the database")
    func secondName() throws {
        try Self.make(path, paused: 7)
        #expect(Glibc.link(path, path + ".replaced-2026-01-02T03:04:05.000006Z") == 0)
        let old = try #require(try DatabaseRestore(database: path).restore(backup))
        #expect(try replaced().map { folder.file($0) } == [old])
        #expect(try mark(of: old) == 7)
        #expect(try mark(of: path) == 41)
    }

    @Test("puts the log of a database that is missing aside as well")
    func keepsLostLog() throws {
        let log = Data("lost".utf8)
        try log.write(to: URL(fileURLWithPath: path + "-wal"))
        let old = try #require(try DatabaseRestore(database: path).restore(backup))
        #expect(old.hasSuffix("-wal"))
        #expect(FileManager.default.contents(atPath: old) == log)
        #expect(try mark(of: path) == 41)
    }

    @Test("that fails at its last step leaves the database and its logs as they were")
    func putsBack() throws {
        let damaged = try makeDamaged()
        let folder = try CopyFolder(for: path)
        // There is no copy in it that could get the name.
        let error = #expect(throws: DaemonError.self) {
            try DatabaseExchange(path, at: TestScheduler.start).replace(with: folder)
        }
        folder.remove()
        let words = "cannot name the restored database '\(path)': no such file or directory"
        #expect(error?.description == words)
        for (ending, bytes) in damaged {
            #expect(FileManager.default.contents(atPath: path + ending) == bytes)
        }
        #expect(try replaced() == [])
    }

    @Test("that fails at its last step leaves no file where none was")
    func leavesNone() throws {
        let log = Data("lost".utf8)
        try log.write(to: URL(fileURLWithPath: path + "-wal"))
        let folder = try CopyFolder(for: path)
        #expect(throws: DaemonError.self) {
            try DatabaseExchange(path, at: TestScheduler.start).replace(with: folder)
        }
        folder.remove()
        #expect(!TrustedPath.isThere(path))
        #expect(FileManager.default.contents(atPath: path + "-wal") == log)
        #expect(try replaced() == [])
    }
}

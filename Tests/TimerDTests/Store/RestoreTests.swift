// SPDX-License-Identifier: Apache-2.0

import Foundation
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
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Locks
import Logging
import Testing

@testable import SQLite
@testable import TimerD

@Suite("DatabaseLock") struct DatabaseLockTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("timerd.db")
    }

    @Test("The second daemon is told who has the database")
    func refusesSecond() throws {
        let lock = try DatabaseLock(database: path)
        expectError("database '\(path)' is in use by process \(getpid())") {
            try DatabaseLock(database: path)
        }
        lock.release()
    }

    @Test("Nothing is made beside a file of another program, but where it is to be replaced")
    func otherProgram() throws {
        try Data("root:x:0:0\n".utf8).write(to: URL(fileURLWithPath: path))
        let before = try folder.contents()
        expectError("'\(path)' is not an SQLite database, and was left alone") {
            try DatabaseLock(database: path)
        }
        #expect(try folder.contents() == before)
        let lock = try DatabaseLock(database: path, isToBeReplaced: true)
        #expect(access(path + "-lock", F_OK) == 0)
        lock.release()
    }

    @Test("A process of another container is named by the number that it has here, or by none")
    func otherNamespace() throws {
        try Data("1\npid:[1]\n".utf8).write(to: path + "-lock")
        let file = open(path + "-lock", O_RDWR | O_CLOEXEC)
        defer { close(file) }
        try #require(flock(file, LOCK_EX | LOCK_NB) == 0)
        expectError("database '\(path)' is in use by process \(getpid())") {
            try DatabaseLock(database: path)
        }
        let name = "a process that has no number here, as of another container"
        #expect(DatabaseLock.name(of: DatabaseLock.foreign) == name)
    }

    @Test("What another program wrote under the lock's name stays, and is a lock all the same")
    func otherText() throws {
        try Data("[[package]]\n".utf8).write(to: path + "-lock")
        let lock = try DatabaseLock(database: path)
        expectError("database '\(path)' is in use by another process") {
            try DatabaseLock(database: path)
        }
        lock.release()
        #expect(try folder.contents() == ["timerd.db-lock": Data("[[package]]\n".utf8)])
    }

    @Test("What a loss of power has left of the lock's text gives way to that of the next")
    func zeros() throws {
        try Data(count: 20).write(to: path + "-lock")
        let lock = try DatabaseLock(database: path)
        expectError("database '\(path)' is in use by process \(getpid())") {
            try DatabaseLock(database: path)
        }
        lock.release()
    }

    @Test("Once released, by name or by being freed, it can be taken again")
    func releases() throws {
        let lock = try DatabaseLock(database: path)
        lock.release()
        lock.release()
        do {
            let second = try DatabaseLock(database: path)
            #expect(throws: DatabaseError.self) { try DatabaseLock(database: path) }
            withExtendedLifetime(second) {}
        }
        let third = try DatabaseLock(database: path)
        third.release()
    }

    @Test("A refused daemon does not take the lock away from its holder")
    func refusalKeepsLock() throws {
        let lock = try DatabaseLock(database: path)
        for _ in 0..<3 {
            #expect(throws: DatabaseError.self) { try DatabaseLock(database: path) }
        }
        lock.release()
    }

    @Test("What a daemon was about to start when it was killed is waited for")
    func waitsForOrphan() async throws {
        // Above the highest that Linux gives.
        try Data("1000000000\n".utf8).write(to: path + "-lock")
        let orphan = open(path + "-lock", O_RDWR | O_CLOEXEC)
        #expect(flock(orphan, LOCK_EX | LOCK_NB) == 0)
        let isOver = Locked(false)
        defer { isOver.withLock { $0 = true } }
        let lockPath = path + "-lock"
        Thread.detachNewThread {
            // Until who waits has opened it too.
            while Self.descriptors(of: lockPath).count < 2, !isOver.withLock(\.self) {
                sched_yield()
            }
            close(orphan)
        }
        let lock = try DatabaseLock(database: path)
        lock.release()
    }

    private static func descriptors(of path: String) -> [Int] {
        (0..<1024).filter { descriptor in
            // try?: not each of these numbers is a descriptor's.
            let link = "/proc/self/fd/\(descriptor)"
            return (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) == path
        }
    }

    @Test("The lock file is its owner's alone, and not handed to the commands of jobs")
    func lockFile() throws {
        let lock = try DatabaseLock(database: path)
        defer { lock.release() }
        #expect(try folder.mode(of: "timerd.db-lock") == 0o600)
        let descriptor = try #require(Self.descriptors(of: path + "-lock").first)
        #expect(fcntl(Int32(descriptor), F_GETFD) & FD_CLOEXEC != 0)
    }

    @Test("A lock file that is a symbolic link is refused, and its target not made")
    func symbolicLink() throws {
        let target = folder.file("target")
        try FileManager.default.createSymbolicLink(
            atPath: path + "-lock",
            withDestinationPath: target
        )
        expectError("cannot open lock file '\(path)-lock': is a symbolic link") {
            try DatabaseLock(database: path)
        }
        #expect(!FileManager.default.fileExists(atPath: target))
    }

    @Test("Two names of one database are one lock")
    func twoNames() throws {
        try Data().write(to: path)
        let other = folder.file("other.db")
        try FileManager.default.createSymbolicLink(atPath: other, withDestinationPath: path)
        let folderLink = folder.file("folder")
        try FileManager.default.createSymbolicLink(
            atPath: folderLink,
            withDestinationPath: folder.path
        )
        let lock = try DatabaseLock(database: path)
        for name in [other, folderLink + "/timerd.db"] {
            expectError("database '\(name)' is in use by process \(getpid())") {
                try DatabaseLock(database: name)
            }
        }
        lock.release()
    }

    @Test("A hard link of a database that is in use is refused, with the process that has it")
    func hardLink() throws {
        _ = try Store(path, log: Logger(label: "test"), now: TestScheduler.start)
        let lock = try DatabaseLock(database: path)
        let other = folder.file("other.db")
        #expect(link(path, other) == 0)
        expectError("database '\(other)' is in use by process \(getpid()) under another name") {
            try DatabaseLock(database: other)
        }
        lock.release()
        try DatabaseLock(database: other).release()
    }

    @Test("A database that was not there when the lock was taken is locked once it is")
    func newDatabase() throws {
        let lock = try DatabaseLock(database: path)
        _ = try Store(path, log: Logger(label: "test"), now: TestScheduler.start)
        let other = folder.file("other.db")
        #expect(link(path, other) == 0)
        try lock.holdFile()
        try lock.holdFile()
        #expect(throws: DatabaseError.self) { try DatabaseLock(database: other) }
        lock.release()
        try DatabaseLock(database: other).release()
    }

    @Test("The kernel's list of locks tells who holds one, and not who waits for it")
    func lockTable() {
        let table = """
            1: POSIX  ADVISORY  WRITE 11 fd:01:77 0 EOF
            2: FLOCK  ADVISORY  WRITE 22 fd:01:77 0 EOF
            2: -> FLOCK  ADVISORY  WRITE 33 fd:01:77 0 EOF
            3: FLOCK  ADVISORY  WRITE 44 08:11:77 0 EOF

            """
        #expect(LockTable.holder(device: 0xfd01, inode: 77, in: table) == 22)
        #expect(LockTable.holder(device: 0x0811, inode: 77, in: table) == 44)
        #expect(LockTable.holder(device: 0xfd01, inode: 78, in: table) == nil)
    }

    @Test("Who holds a lock is told, however many there are on the machine")
    func manyLocks() throws {
        // More than two pages of the list.
        let files = (0..<200).map {
            open(folder.file("\($0)"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        }
        defer { for file in files { close(file) } }
        for file in files { try #require(flock(file, LOCK_EX | LOCK_NB) == 0) }
        let told = files.compactMap { LockTable.holder(of: $0) }
        // One may be left out where others come and go. There are file systems whose locks the list has by another device.
        #expect(told.count > 150 || told.isEmpty, "\(told.count)")
        #expect(told.allSatisfy { $0 == getpid() })
    }

    @Test("A missing folder is an error that names it")
    func missingFolder() {
        let inNowhere = folder.file("nowhere/timerd.db")
        expectError("cannot open the folder of '\(inNowhere)': no such file or directory") {
            try DatabaseLock(database: inNowhere)
        }
    }

    @Test("A daemon that was killed leaves nothing in the way of the next", .timeLimit(.minutes(1)))
    func killed() throws {
        // Another process that takes the lock as we do, says so, and stays.
        let holder = Process()
        holder.executableURL = URL(fileURLWithPath: "/bin/sh")
        holder.arguments = [
            "-c", "exec 9>\"$0\"; flock -x 9; echo $$ >&9; echo locked; exec sleep 1000",
            path + "-lock",
        ]
        let output = Pipe()
        holder.standardOutput = output
        try holder.run()
        #expect(output.fileHandleForReading.availableData == Data("locked\n".utf8))
        expectError(
            "database '\(path)' is in use by process \(holder.processIdentifier)"
        ) {
            try DatabaseLock(database: path)
        }
        kill(holder.processIdentifier, SIGKILL)
        holder.waitUntilExit()
        let lock = try DatabaseLock(database: path)
        expectError("database '\(path)' is in use by process \(getpid())") {
            try DatabaseLock(database: path)
        }
        lock.release()
    }
}

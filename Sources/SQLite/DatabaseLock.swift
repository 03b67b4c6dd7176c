// SPDX-License-Identifier: Apache-2.0

import CLinux
import CSQLite
import Glibc
import Locks
import Platform
import SystemPackage

/// The right to be the one daemon of a database, held until `release`.
///
/// A lock on `<database>-lock` (flock(2)), which the kernel drops however its holder ends. The file
/// stays: it is the lock that counts, and deleting the file would let two daemons each lock one of
/// their own. In it are the holder's process id and the namespace in which that counts, for the message alone.
///
/// Not `.lock`: a file of that name is by itself a lock to many programs. `/etc/passwd.lock` keeps everybody's useradd out,
/// and a slip of the path would be enough to make it.
///
/// It also locks the file of the database itself, which may have other names: a hard link, or a mount of it
/// elsewhere. That descriptor is closed by `release`, after SQLite's own: closing any descriptor of a file
/// drops the locks that SQLite has on it (https://www.sqlite.org/howtocorrupt.html 2.2).
package final class DatabaseLock: Sendable {
    private struct State {
        /// The descriptor of the lock file; negative before it is locked, and once released.
        var lock: Int32 = -1
        /// The descriptor of the database's file; negative if that is not open.
        var file: Int32 = -1
    }

    /// How its file's name ends.
    package static let ending = "-lock"

    private let path: String
    private let state: Locked<State>

    /// Takes the lock of the database at `path`, which need not exist yet.
    ///
    /// `isToBeReplaced`: whatever file is there, which a restore keeps under another name.
    ///
    /// - Throws: "database '/path' is in use by process 1234" if another has it; that the file is no database of
    ///   timerd, beside which nothing is made; or what keeps the lock file from being opened.
    package init(
        database path: String,
        isToBeReplaced: Bool = false
    ) throws(DatabaseError) {
        self.path = path
        state = Locked(State())
        if !isToBeReplaced { try Self.checkOwn(path) }
        let lockPath = try Self.resolve(path) + Self.ending
        // Not through a symbolic link: as root that would make or lock a file of someone's choice.
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        let file = open(lockPath, flags, 0o600)
        guard file >= 0 else {
            let reason = errno == ELOOP ? "is a symbolic link" : Errno.last.text
            throw Self.refusal(path, "cannot open lock file '\(lockPath)': \(reason)")
        }
        let number = Self.lock(file) { Self.readHolder(file) }
        guard number == 0 else {
            var holder = Self.readHolder(file)
            // From outside, a container's processes have numbers here as well, which the kernel knows.
            if holder == Self.foreign { holder = LockTable.holder(of: file) ?? holder }
            close(file)
            guard number == EWOULDBLOCK else {
                let reason = Errno(rawValue: number).text
                throw Self.refusal(path, "cannot lock '\(lockPath)': \(reason)")
            }
            throw Self.refusal(
                path,
                "database '\(path)' is in use by \(Self.name(of: holder))",
                code: SQLITE_BUSY
            )
        }
        Self.writeHolder(file)
        state.withLock { $0.lock = file }
        try holdFile()
    }

    /// The descriptor of the database's file; negative if it cannot be opened, which the connection that opens it
    /// later reports.
    private static func openFile(_ path: String) -> Int32 {
        // O_NONBLOCK: does not wait if it is a pipe.
        open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    }

    /// Refuses another program's file before a lock is made beside it.
    ///
    /// With the lock it is opened anew: a restore that has ended meanwhile has put another file there.
    private static func checkOwn(_ path: String) throws(DatabaseError) {
        let file = openFile(path)
        guard file >= 0 else { return }
        defer { close(file) }
        // An empty file is refused by the connection as well, which knows why one is left.
        guard let header = DatabaseFile.header(of: file), !header.isEmpty,
            let problem = DatabaseFile.problem(with: header)
        else { return }
        throw refusal(path, "'\(path)' \(problem)", code: SQLITE_NOTADB)
    }

    /// Locks the database's file too, if it exists.
    ///
    /// - Throws: "database '/path' is in use by process 1234 under another name".
    package func holdFile() throws(DatabaseError) {
        let path = path
        let refusal = state.withLock { state -> DatabaseError? in
            guard state.lock >= 0 else { return nil }
            if state.file < 0 { state.file = Self.openFile(path) }
            let file = state.file
            guard file >= 0 else { return nil }
            // One that is locked already stays so.
            guard !Self.isRemote(file) else { return nil }
            let number = Self.lock(file) { LockTable.holder(of: file) }
            guard number != 0 else { return nil }
            guard number == EWOULDBLOCK else {
                let reason = Errno(rawValue: number).text
                return Self.refusal(path, "cannot lock '\(path)': \(reason)")
            }
            let name = Self.name(of: LockTable.holder(of: file))
            return Self.refusal(
                path,
                "database '\(path)' is in use by \(name) under another name",
                code: SQLITE_BUSY
            )
        }
        if let refusal { throw refusal }
    }

    /// Whether it lies on another machine: there flock(2) takes the kind of lock that SQLite itself
    /// takes, and would keep SQLite out.
    private static func isRemote(_ file: Int32) -> Bool {
        var system = statfs()
        // NFS, and the versions of SMB: statfs(2).
        let remote: [UInt32] = [0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42]
        return fstatfs(file, &system) == 0
            && remote.contains(UInt32(truncatingIfNeeded: system.f_type))
    }

    deinit {
        release()
    }

    /// Releases the database for the next daemon; a second call does nothing.
    package func release() {
        state.withLock { state in
            if state.file >= 0 { close(state.file) }
            if state.lock >= 0 { close(state.lock) }
            state = State()
        }
    }

    /// Takes the lock; returns 0, or the errno.
    ///
    /// A child that a killed daemon was about to start has the lock too, until it has executed its command or
    /// ended. So a lock whose holder is gone is waited for, two seconds at most.
    private static func lock(_ file: Int32, holder: () -> Int32?) -> Int32 {
        for _ in 0..<200 {
            if flock(file, LOCK_EX | LOCK_NB) == 0 { return 0 }
            let number = errno
            guard number == EWOULDBLOCK, let holder = holder(), holder != Self.foreign,
                kill(holder, 0) != 0, errno == ESRCH
            else { return number }
            usleep(10_000)
        }
        return EWOULDBLOCK
    }

    /// The path without symbolic links, so that two names of one database are one lock.
    package static func resolve(_ path: String) throws(DatabaseError) -> String {
        if let real = realPath(path) { return real }
        let (folder, name) =
            switch path.lastIndex(of: "/") {
            case let slash?: (String(path[...slash]), String(path[path.index(after: slash)...]))
            case nil: (".", path)
            }
        guard let folder = realPath(folder) else {
            let reason = Errno.last.text
            throw refusal(path, "cannot open the folder of '\(path)': \(reason)")
        }
        return folder == "/" ? "/" + name : folder + "/" + name
    }

    private static func realPath(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    /// In place of a number that counts elsewhere: to name that one would be to name another process.
    static let foreign: Int32 = 0

    /// Where the number of this process counts, such as "pid:[4026531836]"; empty where /proc does not tell.
    private static var namespace: Substring {
        var link = [CChar](repeating: 0, count: 64)
        let count = readlink("/proc/self/ns/pid", &link, link.count)
        let bytes = link.prefix(max(count, 0)).map(UInt8.init(bitPattern:))
        return Substring(decoding: bytes, as: UTF8.self)
    }

    /// Nil for the instant between the holder's lock and its first write.
    private static func readHolder(_ descriptor: Int32) -> Int32? {
        var buffer = [UInt8](repeating: 0, count: 80)
        let count = pread(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return nil }
        let lines = String(decoding: buffer.prefix(count), as: UTF8.self).split(separator: "\n")
        guard let pid = lines.first.flatMap({ Int32($0) }) else { return nil }
        // A release before this one wrote its number alone.
        guard lines.count > 1, !namespace.isEmpty else { return pid }
        return lines[1] == namespace ? pid : foreign
    }

    static func name(of holder: Int32?) -> String {
        switch holder {
        case nil: "another process"
        case foreign: "a process that has no number here, as of another container"
        case let pid?: "process \(pid)"
        }
    }

    /// Writes the process id; if that fails, on a full disk for example, only the message lacks it.
    ///
    /// A file of that name which another program has written keeps its text.
    private static func writeHolder(_ descriptor: Int32) {
        var first: UInt8 = 0
        // Zeros are what a loss of power may have left.
        guard pread(descriptor, &first, 1, 0) < 1 || first == 0 || readHolder(descriptor) != nil
        else { return }
        var text = "\(getpid())\n\(namespace)\n"
        ftruncate(descriptor, 0)
        text.withUTF8 { _ = pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    private static func refusal(
        _ path: String,
        _ message: String,
        code: Int32 = SQLITE_CANTOPEN
    ) -> DatabaseError {
        DatabaseError(code: code, message: message, path: path)
    }
}

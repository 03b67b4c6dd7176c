// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Glibc
import LinuxSystem
import Platform
import SQLite
import SystemPackage

/// A folder of the daemon's user alone, beside the place of a copy, in which the copy is made before it gets its name.
///
/// SQLite believes what lies beside a file to be its log, and in a folder such as /tmp anybody could put one there. It is called
/// as the copy with `ending`; where something else has that name, with a number before it that nobody can have guessed.
struct CopyFolder {
    static let ending = ".timerd-copy"
    /// What may be in one.
    private static let names = ["copy"] + TrustedPath.endingsOfLogs.map { "copy" + $0 } + ["empty"]

    /// What the copy is to be.
    let file: String
    private let path: String
    /// Locked while the folder is used, so that nobody else on this host empties it.
    private let descriptor: Int32

    /// The copy.
    var copy: String { path + "/copy" }
    /// A file without bytes: see `DatabaseExchange`.
    var empty: String { path + "/empty" }

    /// Makes the folder for a copy that is to be `file`, or takes over and empties what a daemon that died has left of one.
    ///
    /// Only where `TrustedPath` has nothing against the folder of `file`.
    init(for file: String) throws(DatabaseError) {
        self.file = file
        let name = file + Self.ending
        // What is no folder of ours is left alone: in a folder such as /tmp anybody may have made it.
        let other = "\(file).\(UInt64.random(in: 0...UInt64.max))\(Self.ending)"
        path = Self.isTaken(name) ? other : name
        descriptor = try Self.take(path, for: file)
        removeFiles()
    }

    /// Whether something else has that name.
    private static func isTaken(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT != S_IFDIR || status.st_uid != geteuid()
            || TrustedPath.problem(with: path) != nil
    }

    /// Removes the folder and what is in it; to be called once.
    func remove() {
        removeFiles()
        // Fails, as it should, where there is something else in it.
        rmdir(path)
        close(descriptor)
    }

    private func removeFiles() {
        for name in Self.names { unlink(path + "/" + name) }
    }

    /// Makes and locks the folder for `file`; returns its descriptor.
    private static func take(_ path: String, for file: String) throws(DatabaseError) -> Int32 {
        // Whoever had it before may remove it between two of these calls.
        for _ in 0..<100 {
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
                // The copy itself would meet the same, and its name is the one that was given.
                throw refusal([ENOENT, ENOTDIR, EACCES, EROFS].contains(errno) ? file : path)
            }
            let folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard folder >= 0 else {
                if errno == ENOENT { continue }
                throw refusal(path)
            }
            do throws(DatabaseError) {
                if try lock(folder, path) { return folder }
                close(folder)
            } catch {
                close(folder)
                throw error
            }
        }
        throw refusal(path, "it is removed again and again")
    }

    /// Locks the folder; returns whether it still has its name.
    private static func lock(_ folder: Int32, _ path: String) throws(DatabaseError) -> Bool {
        // A file system may have no locks.
        let withoutLocks = [ENOLCK, ENOTSUP, ENOSYS, EINVAL]
        if flock(folder, LOCK_EX | LOCK_NB) != 0, !withoutLocks.contains(errno) {
            guard errno == EWOULDBLOCK else { throw refusal(path) }
            throw refusal(path, "another copy is being made in it")
        }
        var (mine, named) = (stat(), stat())
        guard fstat(folder, &mine) == 0 else { throw refusal(path) }
        guard lstat(path, &named) == 0 else {
            if errno == ENOENT { return false }
            throw refusal(path)
        }
        guard mine.st_dev == named.st_dev, mine.st_ino == named.st_ino else { return false }
        // In a folder such as /tmp it may be a stranger's.
        if let problem = TrustedPath.problem(with: path) { throw refusal(path, problem) }
        return true
    }

    /// `reason`: nil for that of the system call that has just failed.
    private static func refusal(_ path: String, _ reason: String? = nil) -> DatabaseError {
        let last = Errno.last
        return DatabaseError(
            code: SQLITE_CANTOPEN,
            systemError: reason == nil ? last.rawValue : 0,
            message: "cannot create '\(path)': \(reason ?? last.text)",
            path: path
        )
    }
}

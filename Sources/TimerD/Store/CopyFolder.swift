// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation
import Glibc
import LinuxSystem
import Platform
import SQLite
import SystemPackage

/// A folder of the daemon's user alone, beside the place of a copy, in which the copy is made before it gets its name.
///
/// SQLite believes what lies beside a file to be its log, and in a folder such as /tmp anybody could put one there.
struct CopyFolder {
    private static let ending = ".timerd-copy"
    /// What may be in one.
    private static let names = ["copy"] + TrustedPath.endingsOfLogs.map { "copy" + $0 } + ["empty"]

    /// What the copy is to be.
    let file: String
    /// Locked while somebody uses the folder; negative where its file system has no such locks.
    private let lock: Int32

    private var path: String { file + Self.ending }
    /// The copy.
    var copy: String { path + "/copy" }
    /// A file without bytes: see `DatabaseRestore`.
    var empty: String { path + "/empty" }

    /// Makes the folder for a copy that is to be `file`; removes what daemons that died have left in its place, and beside it.
    ///
    /// Only where `TrustedPath` has nothing against the folder of `file`.
    init(for file: String) throws(DatabaseError) {
        self.file = file
        let path = file + Self.ending
        Self.removeLeft(in: file.parentFolder)
        guard mkdir(path, 0o700) == 0 else {
            let number = errno
            throw DatabaseError(
                code: SQLITE_CANTOPEN,
                systemError: number,
                message: "cannot create '\(path)': \(Errno(rawValue: number).text)",
                path: file
            )
        }
        lock = Self.lock(path) ?? -1
    }

    /// Removes the folder and what is in it; to be called once.
    func remove() {
        Self.remove(path)
        if lock >= 0 { close(lock) }
    }

    /// Nil for what is no folder, and for one that somebody has locked.
    private static func lock(_ path: String) -> Int32? {
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { return nil }
        guard flock(folder, LOCK_EX | LOCK_NB) == 0 else {
            close(folder)
            return nil
        }
        return folder
    }

    private static func removeLeft(in folder: String) {
        // try?: if the folder cannot be read, what is left in it stays.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names where name.hasSuffix(ending) {
            let path = folder + "/" + name
            // A stranger's could become a link to somewhere else meanwhile.
            guard TrustedPath.problem(with: path) == nil, let lock = lock(path) else { continue }
            remove(path)
            close(lock)
        }
    }

    private static func remove(_ path: String) {
        for name in names { unlink(path + "/" + name) }
        // Fails, as it should, where there is something else in it.
        rmdir(path)
    }
}

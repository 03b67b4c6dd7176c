// SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxSystem
import Platform
import SQLite

/// Where a copy of a database is to be: looked at before anything is written.
struct CopyTarget {
    let file: String
    /// Whether an earlier copy of that name is replaced, or an empty file.
    let replacing: Bool

    /// Why a copy of `source` may not be written there, in a sentence; nil if it may.
    func problem(withCopyOf source: String) -> String? {
        // As root this would otherwise make, write and rename files wherever a stranger's link leads.
        if let problem = TrustedPath.problem(with: file.parentFolder) {
            return "cannot write a backup to '\(file)': \(problem)"
        }
        if isPart(of: source) {
            return "cannot write a backup to '\(file)': it is one of the database's own files"
        }
        var status = stat()
        if lstat(file, &status) == 0 {
            guard replacing else { return "'\(file)' is there already, and was left alone" }
            if let problem = problem(replacing: status) {
                return "'\(file)' \(problem), and was left alone"
            }
        }
        // It would be read as the copy's own: a restore refuses that.
        return TrustedPath.log(beside: file).map {
            "cannot write a backup to '\(file)': '\($0)' lies beside it, of another database of that name;"
                + " accepted is a name without one"
        }
    }

    /// Whether it has the name of the database, of a file that lies or may lie beside it as a part of it, or of what is its
    /// runner's.
    private func isPart(of source: String) -> Bool {
        // try?: where its folder cannot be found, there is no file in it to harm.
        guard let real = try? DatabaseLock.resolve(source) else { return false }
        // A further name of it: as it is opened to be looked at, and closed, SQLite would lose its locks.
        if Self.isSame(file, real) { return true }
        guard Self.isSame(file.parentFolder, real.parentFolder) else { return false }
        let (name, own) = (file.fileName, real.fileName)
        return [own, own + ".new"].contains { file in
            TrustedPath.endingsOfDatabase.contains { name == file + $0 }
        }
            || name.hasPrefix(own + TrustedPath.endingOfRunner)
            || name.hasPrefix(own + TrustedPath.replacedMark)
            || name.hasPrefix(own) && name.hasSuffix(CopyFolder.ending)
    }

    /// By device and inode: a folder may have several names, as may a file.
    private static func isSame(_ path: String, _ other: String) -> Bool {
        var (one, another) = (stat(), stat())
        return stat(path, &one) == 0 && stat(other, &another) == 0
            && one.st_dev == another.st_dev && one.st_ino == another.st_ino
    }

    /// What speaks against replacing it: what is no earlier copy is somebody's, or the machine's, but an empty file, with which
    /// nothing is lost.
    ///
    /// A lock is empty, too, as that of a daemon's socket: whoever held it would hold what has no name any more.
    private func problem(replacing status: stat) -> String? {
        guard status.st_mode & S_IFMT == S_IFREG else { return "is no regular file" }
        let isEmpty = status.st_size == 0 && !file.hasSuffix("lock")
        guard isEmpty || Database.isOwn(file) else { return "is no earlier backup" }
        return nil
    }
}

// SPDX-License-Identifier: Apache-2.0

import CSQLite
// `stat` belongs to CoreFoundation if any module of the program imports that, and to Glibc otherwise.
import CoreFoundation
import Glibc
import Platform
import SystemPackage

/// The disk that a database lies on: a seam, so that a disk that fails can take its place.
package protocol Disk: Sendable {
    /// The name of SQLite's VFS for it; nil for SQLite's own choice.
    var vfs: String? { get }

    /// The size of a file in bytes; nil if there is no such file.
    ///
    /// - Throws: a sentence that names the path if it is not a file, or cannot be looked at.
    func size(of path: String) throws(DatabaseError) -> Int?

    /// Identifies the file at `path`; nil if there is none.
    ///
    /// `isItself`: a symbolic link there counts as what it is, and not as the file that it leads to.
    ///
    /// - Throws: if that cannot be told.
    func identity(of path: String, isItself: Bool) throws(DatabaseError) -> FileIdentity?

    /// Where the symbolic link at `path` leads; nil if there is none.
    func target(ofLink path: String) -> String?

    /// Makes an empty file that only its owner may read, in place of one that is there.
    func create(_ path: String) throws(DatabaseError)

    /// Renames a file to a name that nothing has; a loss of power does not undo that.
    func rename(_ path: String, to name: String) throws(DatabaseError)
}

/// The file systems of the machine.
package struct SystemDisk: Disk {
    package let vfs: String? = nil

    package init() {}

    package func size(of path: String) throws(DatabaseError) -> Int? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            guard errno == ENOENT else {
                throw DatabaseError(cannot: "open", path, because: errno)
            }
            return nil
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return status.st_size
        case S_IFDIR: throw DatabaseError(cannot: "open", path, because: EISDIR)
        default:
            throw DatabaseError(
                code: SQLITE_CANTOPEN,
                message: "cannot open '\(path)': not a regular file",
                path: path
            )
        }
    }

    package func identity(of path: String, isItself: Bool) throws(DatabaseError) -> FileIdentity? {
        var status = stat()
        guard (isItself ? lstat(path, &status) : stat(path, &status)) == 0 else {
            guard errno == ENOENT || errno == ENOTDIR else {
                throw DatabaseError(cannot: "look at", path, because: errno)
            }
            return nil
        }
        return FileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    package func target(ofLink path: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = bytes.withUnsafeMutableBytes { buffer -> Int in
            guard let start = buffer.bindMemory(to: CChar.self).baseAddress else { return -1 }
            return readlink(path, start, buffer.count)
        }
        guard count > 0 else { return nil }
        let target = String(decoding: bytes[..<count], as: UTF8.self)
        return target.hasPrefix("/") ? target : "\(path.parentFolder)/\(target)"
    }

    package func create(_ path: String) throws(DatabaseError) {
        unlink(path)
        let descriptor = Glibc.open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw DatabaseError(cannot: "create", path, because: errno)
        }
        // Closing a descriptor of a database drops the locks that this process holds on it
        // (https://www.sqlite.org/howtocorrupt.html 2.2); this file is too new to have any.
        Glibc.close(descriptor)
    }

    package func rename(_ path: String, to name: String) throws(DatabaseError) {
        var status = stat()
        // A symbolic link that leads nowhere is somebody's mistake, and not to be replaced.
        guard lstat(name, &status) != 0 else {
            throw DatabaseError(cannot: "create", name, because: EEXIST)
        }
        guard Glibc.rename(path, name) == 0 else {
            throw DatabaseError(cannot: "create", name, because: errno)
        }
        try syncFolder(of: name)
    }

    /// Returns once no loss of power undoes what a file was named, or what had its name before.
    package func syncFolder(of name: String) throws(DatabaseError) {
        let folder = Glibc.open(name.parentFolder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else {
            throw DatabaseError(cannot: "create", name, because: errno)
        }
        defer { Glibc.close(folder) }
        guard fsync(folder) == 0 else {
            throw DatabaseError(cannot: "create", name, because: errno)
        }
    }
}

extension DatabaseError {
    /// A file could not be opened or created, for the reason that `errno` gave.
    fileprivate init(cannot failed: String, _ path: String, because number: Int32) {
        self.init(
            code: SQLITE_CANTOPEN,
            systemError: number,
            message: "cannot \(failed) '\(path)': \(Errno(rawValue: number).text)",
            path: path
        )
    }
}

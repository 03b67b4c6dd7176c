// SPDX-License-Identifier: Apache-2.0

// `stat` is CoreFoundation's if any module of the program imports that, else Glibc's.
import CLinux
import CoreFoundation
import Glibc

/// Whether a file or folder can be changed by nobody but root and the daemon's own user.
///
/// Whoever can write to a folder on the way could put a file, or a link, of their own in the place of
/// what is there: a socket of theirs, a database with commands for root, a place where root makes files.
package enum TrustedPath {
    /// An error's words if a stranger owns, could replace or could write to `path` or a folder on the way;
    /// nil if not.
    ///
    /// Links are followed, and each is checked. A path is checked as far as it exists.
    package static func problem(
        with path: String,
        uid: UInt32 = geteuid(),
        gid: UInt32 = getegid()
    ) -> String? {
        var links = 0
        var rest = Array(components(of: path).reversed())
        if !path.hasPrefix("/") { rest += components(of: workingFolder()).reversed() }
        var place = "/"
        if let problem = problem(at: place, uid, gid) { return problem }
        while let name = rest.popLast() {
            let next = place == "/" ? "/\(name)" : "\(place)/\(name)"
            var file = stat()
            guard lstat(next, &file) == 0 else { return nil }
            guard file.st_uid == 0 || file.st_uid == uid else {
                return "'\(next)' belongs to uid \(file.st_uid); accepted are root and uid \(uid)"
            }
            guard file.st_mode & S_IFMT == S_IFLNK else {
                if let problem = problem(at: next, uid, gid) { return problem }
                place = next
                continue
            }
            links += 1
            guard links <= 40, let target = target(of: next) else {
                return "'\(next)' is a link that cannot be followed"
            }
            if target.hasPrefix("/") { place = "/" }
            rest += components(of: target).reversed()
        }
        return nil
    }

    private static func workingFolder() -> String {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return String(cString: path)
    }

    private static func components(of path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.map(String.init)
    }

    private static func target(of link: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = bytes.withUnsafeMutableBytes { buffer -> Int in
            guard let start = buffer.bindMemory(to: CChar.self).baseAddress else { return -1 }
            return readlink(link, start, buffer.count)
        }
        guard count > 0, count < bytes.count else { return nil }
        return String(validating: bytes.prefix(count), as: UTF8.self)
    }

    private static func problem(at place: String, _ uid: uid_t, _ gid: gid_t) -> String? {
        var file = stat()
        guard stat(place, &file) == 0 else { return nil }
        guard file.st_uid == 0 || file.st_uid == uid else {
            return "'\(place)' belongs to uid \(file.st_uid); accepted are root and uid \(uid)"
        }
        let isFolder = file.st_mode & S_IFMT == S_IFDIR
        // In a sticky folder such as /tmp nobody can move what belongs to somebody else. A device such
        // as /dev/null keeps nothing.
        guard isFolder ? file.st_mode & S_ISVTX == 0 : file.st_mode & S_IFMT == S_IFREG else {
            return nil
        }
        if file.st_mode & S_IWOTH != 0 {
            return "everybody can write to '\(place)'; accepted is the owner alone"
        }
        guard file.st_mode & S_IWGRP != 0 else { return nil }
        // Root's group is trusted like root; unless the daemon is root, its own group like itself.
        if file.st_gid != 0, uid == 0 || file.st_gid != gid {
            return "the group \(file.st_gid) can write to '\(place)'; accepted is the owner alone"
        }
        // With a list of further users and groups, what shows as the group's right is the most that any of these may have.
        if lgetxattr(place, "system.posix_acl_access", nil, 0) > 0 {
            return
                "its access control list lets others write to '\(place)'; accepted is the owner alone"
        }
        return nil
    }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc
package import SystemPackage

/// A user as passwd(5) has him.
package struct UserRecord: Hashable, Sendable {
    package var name: String
    package var uid: UInt32
    package var gid: UInt32
    package var home: String
    package var shell: String

    fileprivate init(_ record: passwd) {
        func text(_ field: UnsafePointer<CChar>?) -> String {
            field.map { String(cString: $0) } ?? ""
        }
        name = text(record.pw_name)
        uid = record.pw_uid
        gid = record.pw_gid
        home = text(record.pw_dir)
        shell = text(record.pw_shell)
        // An empty field means that.
        if shell.isEmpty { shell = "/bin/sh" }
    }
}

/// What is asked of the user database; it may be a network away, so each question may block.
///
/// A service that gets no descriptor is passed over, and the next one says that there is no such user, or makes root up: so
/// an answer counts only where descriptors are free, and is an error of their want otherwise.
package enum UserDatabase {
    /// The user of that number; nil where there is none.
    package static func user(_ uid: UInt32) throws(Errno) -> UserRecord? {
        try ask { strings, size in
            var record = passwd()
            var found: UnsafeMutablePointer<passwd>?
            let code = getpwuid_r(uid, &record, strings, size, &found)
            return (code, found.map { UserRecord($0.pointee) })
        }
    }

    /// The user of that name; nil where there is none.
    package static func user(named name: String) throws(Errno) -> UserRecord? {
        try ask { strings, size in
            var record = passwd()
            var found: UnsafeMutablePointer<passwd>?
            let code = getpwnam_r(name, &record, strings, size, &found)
            return (code, found.map { UserRecord($0.pointee) })
        }
    }

    /// The number of the group of that name; nil where there is none.
    package static func group(named name: String) throws(Errno) -> UInt32? {
        try ask { strings, size in
            var record = Glibc.group()
            var found: UnsafeMutablePointer<Glibc.group>?
            let code = getgrnam_r(name, &record, strings, size, &found)
            return (code, found?.pointee.gr_gid)
        }
    }

    /// All groups of a user, his own among them.
    package static func groups(of user: UserRecord) throws(Errno) -> [UInt32] {
        var count: CInt = 32
        while true {
            var groups = [gid_t](repeating: 0, count: Int(count))
            let room = count
            if getgrouplist(user.name, user.gid, &groups, &count) >= 0 {
                // Of a service that gets none it leaves out the groups, and says nothing of that.
                try FreeDescriptor.require()
                return Array(groups.prefix(Int(count)))
            }
            // It has said how many there are; the kernel takes no more than 65,536.
            guard count > room, count <= 65_536 else { throw .outOfRange }
        }
    }

    /// Asks with a buffer for what the record points to, a larger one where that is too small.
    private static func ask<T>(
        _ question: (UnsafeMutablePointer<CChar>, Int) -> (code: CInt, found: T?)
    ) throws(Errno) -> T? {
        var size = 1024
        while true {
            let strings = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { strings.deallocate() }
            let (code, found) = question(strings, size)
            switch code {
            // getpwnam(3): some systems say so where there is no entry.
            case 0, ENOENT, ESRCH:
                try FreeDescriptor.require()
                return found
            case EINTR: continue
            case ERANGE where size < 1 << 20: size *= 2
            default: throw Errno(rawValue: code)
            }
        }
    }
}

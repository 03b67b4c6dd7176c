// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Lookups in the user database; it may be on the network, so each lookup may block.
struct UserDirectory: Sendable {
    /// The uid of a user name; nil if there is none.
    var uid: @Sendable (String) throws -> UInt32?
    /// The gid of a group name; nil if there is none.
    var gid: @Sendable (String) throws -> UInt32?
    /// The groups of a user; none for a uid without a user.
    var groups: @Sendable (UInt32) throws -> [UInt32]

    static let system = Self(uid: user(named:), gid: group(named:), groups: groups(of:))

    @Sendable private static func user(named name: String) throws -> UInt32? {
        try withBuffer("look up the user '\(name)'") { strings, size in
            var record = passwd()
            var found: UnsafeMutablePointer<passwd>?
            let code = getpwnam_r(name, &record, strings, size, &found)
            return (code, found?.pointee.pw_uid)
        }
    }

    @Sendable private static func group(named name: String) throws -> UInt32? {
        try withBuffer("look up the group '\(name)'") { strings, size in
            var record = Glibc.group()
            var found: UnsafeMutablePointer<Glibc.group>?
            let code = getgrnam_r(name, &record, strings, size, &found)
            return (code, found?.pointee.gr_gid)
        }
    }

    @Sendable private static func groups(of uid: UInt32) throws -> [UInt32] {
        let groups: [UInt32]? = try withBuffer("look up the uid \(uid)") { strings, size in
            var record = passwd()
            var found: UnsafeMutablePointer<passwd>?
            let code = getpwuid_r(uid, &record, strings, size, &found)
            guard code == 0, let user = found?.pointee else { return (code, nil) }
            var count: Int32 = 64
            while true {
                var groups = [gid_t](repeating: 0, count: Int(count))
                // If they do not fit, getgrouplist sets `count` to the number there is.
                let room = count
                if getgrouplist(user.pw_name, user.pw_gid, &groups, &count) >= 0 {
                    return (0, Array(groups.prefix(Int(count))))
                }
                guard count > room, count <= 65_536 else { return (EIO, nil) }
            }
        }
        return groups ?? []
    }

    /// Calls `ask` with a buffer for the record's strings, and again with a larger one if it is too small.
    private static func withBuffer<T>(
        _ doing: String,
        _ ask: (UnsafeMutablePointer<CChar>, Int) -> (code: Int32, found: T?)
    ) throws -> T? {
        var size = 1024
        while true {
            let strings = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { strings.deallocate() }
            let (code, found) = ask(strings, size)
            switch code {
            // getpwnam(3): some systems return these if there is no entry.
            case 0, ENOENT, ESRCH: return found
            case EINTR: continue
            case ERANGE where size < 1 << 20: size *= 2
            default:
                errno = code
                throw SystemError("cannot \(doing)")
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Platform
import SystemPackage

/// What `AccessPolicy` asks of the user database; each question may block.
struct UserDirectory: Sendable {
    /// The uid of a user name; nil if there is none.
    var uid: @Sendable (String) throws -> UInt32?
    /// The gid of a group name; nil if there is none.
    var gid: @Sendable (String) throws -> UInt32?
    /// The groups of a user; none for a uid without a user.
    var groups: @Sendable (UInt32) throws -> [UInt32]

    static let system = Self(
        uid: { name in
            try asking("look up the user '\(name)'") { () throws(Errno) in
                try UserDatabase.user(named: name)?.uid
            }
        },
        gid: { name in
            try asking("look up the group '\(name)'") { () throws(Errno) in
                try UserDatabase.group(named: name)
            }
        },
        groups: { uid in
            try asking("look up the uid \(uid)") { () throws(Errno) in
                try UserDatabase.user(uid).map(UserDatabase.groups) ?? []
            }
        }
    )

    private static func asking<T>(
        _ doing: String,
        _ ask: () throws(Errno) -> T
    ) throws(SystemError) -> T {
        do throws(Errno) { return try ask() } catch { throw SystemError("cannot \(doing)", error) }
    }
}

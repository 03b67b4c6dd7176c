// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import Platform
import SystemPackage
package import TimerControl

/// What the user database says of a user.
package struct Account: Sendable, Hashable {
    package var uid: UInt32
    var gid: UInt32
    /// Supplementary groups, `gid` among them.
    var groups: [UInt32]
    package var name: String
    package var home: String
    package var shell: String
}

extension Account {
    /// Looks a user up; the database may be a network away, so this may block.
    ///
    /// - Throws: for a user who does not exist (any more), and a database that does not answer.
    static func find(uid: UInt32) throws(StartRefusal) -> Self {
        do throws(Errno) {
            if let found = try entry(uid) { return found }
        } catch {
            throw StartRefusal(
                "cannot look up user \(uid)",
                error,
                on: error.isShortage ? .shortage : nil
            )
        }
        throw .noUser(uid)
    }

    /// The user that the daemon itself runs as.
    ///
    /// A uid without an entry, as containers have them, is named by its number and lives in `/`; so is one that could never
    /// be looked up. One that cannot be now is as it was.
    package static func own(uid: UInt32 = geteuid()) -> Self {
        do throws(StartRefusal) {
            let found = try find(uid: uid)
            lastFound.withLock { $0[uid] = found }
            return found
        } catch {
            // That there is no such user is an answer; that it could not be asked is none.
            if error.subject != .user, let last = lastFound.withLock({ $0[uid] }) { return last }
            return Self(
                uid: uid,
                gid: getegid(),
                groups: [],
                name: String(uid),
                home: "/",
                shell: "/bin/sh"
            )
        }
    }

    /// Whom the daemon itself was found to run as.
    private static let lastFound = Locked<[UInt32: Account]>([:])

    /// What is left to know of a run's owner once it has begun.
    package init(formerly owner: Owner) {
        self.init(
            uid: owner.uid,
            gid: owner.uid,
            groups: [],
            name: owner.name,
            home: "~",
            shell: "/bin/sh"
        )
    }

    private static func entry(_ uid: uid_t) throws(Errno) -> Self? {
        guard let user = try UserDatabase.user(uid) else { return nil }
        return Self(
            uid: user.uid,
            gid: user.gid,
            groups: try UserDatabase.groups(of: user),
            name: user.name,
            home: user.home,
            shell: user.shell
        )
    }
}

extension Credentials {
    /// The credentials of `account`'s commands; nil if they run with the daemon's own.
    ///
    /// A daemon that is not root can run commands only as its own user. A daemon of root runs root's commands
    /// with its own credentials if its groups are root's.
    package init?(for account: Account, daemonUID: UInt32) {
        guard daemonUID == 0 else { return nil }
        self.init(uid: account.uid, gid: account.gid, groups: account.groups)
        if account.uid == 0, isOwn { return nil }
    }

    /// Whether the daemon, and so each of its children, has these credentials already.
    private var isOwn: Bool {
        let count = getgroups(0, nil)
        guard count >= 0, uid == geteuid(), gid == getegid() else { return false }
        var own = [gid_t](repeating: 0, count: Int(count))
        guard getgroups(count, &own) == count else { return false }
        // The primary group may be among the others, and grants no more there.
        return Set(own).union([gid]) == Set(groups).union([gid])
    }
}

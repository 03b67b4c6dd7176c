// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import SystemPackage
import TimerControl

/// A user of this machine, for whom a job is added.
struct LocalUser: Hashable {
    var name: String
    var uid: UInt32
    var gid: UInt32
    var home: String

    /// The user of this process.
    static var current: Self {
        let uid = geteuid()
        // try?: who cannot be looked up goes by his number.
        return (try? UserDatabase.user(uid)).map(Self.init)
            ?? Self(name: "\(uid)", uid: uid, gid: getegid(), home: "/")
    }

    /// Nil if there is no user of that name.
    ///
    /// - Throws: 74 where the user database does not answer, which is no word about the user.
    init?(
        named name: String,
        asking: (String) throws(Errno) -> UserRecord? = UserDatabase.user(named:)
    ) throws(Failure) {
        do throws(Errno) {
            guard let user = try asking(name) else { return nil }
            self.init(user)
        } catch {
            throw Failure(.inputOutput, "cannot look up the user '\(name)': \(error.text)")
        }
    }

    /// The user of that name or number, as a setting of a unit has either; nil if there is none.
    init?(namedOrNumbered text: String) throws(Failure) {
        try self.init(named: text) { name throws(Errno) in
            guard let uid = UInt32(name) else { return try UserDatabase.user(named: name) }
            return try UserDatabase.user(uid)
        }
    }

    /// What is said behind a name that nobody has: a number may be meant as a uid.
    static func accepted(for name: String) -> String {
        UInt32(name) == nil ? "" : "; accepted is a user's name, and no uid"
    }

    init(name: String, uid: UInt32, gid: UInt32, home: String) {
        self.name = name
        self.uid = uid
        self.gid = gid
        self.home = home
    }

    private init(_ user: UserRecord) {
        self.init(name: user.name, uid: user.uid, gid: user.gid, home: user.home)
    }

    /// The user that `-u` names, whose jobs nobody but root may change for them; without it the caller.
    static func meant(by option: String?) throws(Failure) -> Self {
        guard let name = option else { return .current }
        guard let user = try Self(named: name) else {
            throw Failure(.badData, "there is no user '\(name)'\(accepted(for: name))")
        }
        guard user.uid == current.uid || current.uid == 0 else {
            throw Failure(.notPermitted, "-u '\(name)': only root may change the jobs of others")
        }
        return user
    }

    /// Connects as this user, so that added jobs belong to them.
    ///
    /// Only root may do that for another user.
    ///
    /// The kernel tells the daemon the effective user of the connecting process. So the whole process takes
    /// this user's uid while it connects, and does nothing else meanwhile.
    func connect(_ common: CommonOptions) async throws(Failure) -> Daemon {
        let caller = geteuid()
        // The one that the caller means: by the other's uid it would be that user's own.
        var common = common
        common.socket = common.socketPath
        if uid == caller { return try await Daemon.connect(common) }
        let group = getegid()
        guard setegid(gid) == 0, seteuid(uid) == 0 else {
            throw Failure(.notPermitted, "cannot become '\(name)': \(Errno.last.text)")
        }
        let connection: Result<Daemon, Failure>
        do {
            connection = .success(try await Daemon.connect(common))
        } catch {
            connection = .failure(error)
        }
        guard seteuid(caller) == 0, setegid(group) == 0 else {
            throw Failure(.notPermitted, "cannot become oneself again: \(Errno.last.text)")
        }
        return try connection.get()
    }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What a run tells its command about itself; dates are RFC 3339 in UTC.
struct RunEnvironment: Sendable {
    var job: String
    /// Empty for a job without a name.
    var jobName: String
    var fire: String
    var run: String
    /// From 1.
    var attempt: Int
    var fireDate: String
    var firedAt: String
    /// How many missed dates the fire stands for.
    var missed: Int
    /// The path of the control socket.
    var socket: String

    /// Where commands are looked up unless the job says otherwise.
    static let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

    /// The complete environment of the run, with nothing of the daemon's; `jobEnvironment` wins.
    func variables(owner: Account, jobEnvironment: [String: String]) -> [String: String] {
        let own = [
            "HOME": owner.home,
            "LOGNAME": owner.name,
            "PATH": Self.path,
            "SHELL": owner.shell,
            "TIMERD_ATTEMPT": String(attempt),
            "TIMERD_FIRED_AT": firedAt,
            "TIMERD_FIRE_DATE": fireDate,
            "TIMERD_FIRE_ID": fire,
            "TIMERD_JOB_ID": job,
            "TIMERD_JOB_NAME": jobName,
            "TIMERD_MISSED": String(missed),
            "TIMERD_RUN_ID": run,
            "TIMERD_SOCKET": socket,
            "USER": owner.name,
        ]
        return own.merging(jobEnvironment) { _, job in job }
    }
}

/// What the user database says of a user.
struct Account: Sendable, Hashable {
    var name: String
    var home: String
    var shell: String
}

extension Account {
    /// Looks a user up; the database may be a network away, so this may block.
    ///
    /// A uid without an entry, as containers have them, is named by its number and lives in `/`.
    init(uid: uid_t) {
        self = Self.entry(uid) ?? Self(name: String(uid), home: "/", shell: "/bin/sh")
    }

    private static func entry(_ uid: uid_t) -> Self? {
        var size = 1024
        while size <= 1 << 20 {
            // What the record points to.
            let strings = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { strings.deallocate() }
            var record = passwd()
            var found: UnsafeMutablePointer<passwd>?
            let code = getpwuid_r(uid, &record, strings, size, &found)
            if code == EINTR { continue }
            guard code == ERANGE else { return found == nil ? nil : Self(record) }
            size *= 2
        }
        return nil
    }

    private init(_ record: passwd) {
        name = Self.text(record.pw_name)
        home = Self.text(record.pw_dir)
        // passwd(5): an empty field means /bin/sh.
        let shell = Self.text(record.pw_shell)
        self.shell = shell.isEmpty ? "/bin/sh" : shell
    }

    private static func text(_ field: UnsafePointer<CChar>?) -> String {
        field.map { String(cString: $0) } ?? ""
    }
}

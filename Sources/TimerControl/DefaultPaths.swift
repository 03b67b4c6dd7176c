// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform

/// Where both programs look for socket, database and configuration by default.
///
/// Root has the system's places. A user has those of the XDG Base Directory Specification, whose
/// variables count only when they hold an absolute path.
public struct DefaultPaths: Hashable, Sendable {
    public var socket: String
    public var database: String
    /// The daemon's configuration file, which need not exist.
    public var configuration: String

    /// The folder of what is secret and the administrator gives to runs.
    public var credentials: String

    /// Where a daemon that serves all users listens.
    public static let systemSocket = "/run/timerd/timerd.sock"

    /// What there is where the system's daemon starts with the machine, also while it is down and has no socket.
    package static let systemService = "/etc/systemd/system/multi-user.target.wants/timerd.service"

    /// The socket that a client connects to: the system's if the user has no daemon of his own and the system
    /// has one, or is to have one.
    public func clientSocket(exists: (String) -> Bool) -> String {
        guard !exists(socket) else { return socket }
        return exists(Self.systemSocket) || exists(Self.systemService) ? Self.systemSocket : socket
    }

    /// The paths for an environment and a uid.
    ///
    /// Of `environment` it reads `XDG_RUNTIME_DIR`, `XDG_STATE_HOME`, `XDG_CONFIG_HOME` and `HOME`; "/"
    /// stands for a missing `HOME`. `isDirectory` is asked about /run/user/UID only, and only for a user
    /// without `XDG_RUNTIME_DIR`, as under su or cron.
    public init(environment: [String: String], uid: UInt32, isDirectory: (String) -> Bool) {
        if uid == 0 {
            socket = Self.systemSocket
            database = "/var/lib/timerd/timerd.db"
            configuration = "/etc/timerd/timerd.json"
            credentials = "/etc/timerd/credentials"
            return
        }
        func folder(_ variable: String) -> String? {
            environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        func file(_ name: String, in folder: String) -> String {
            (folder.hasSuffix("/") ? folder : folder + "/") + "timerd/" + name
        }
        let home = folder("HOME").map { $0 == "/" ? "" : $0 } ?? ""
        let state = folder("XDG_STATE_HOME") ?? home + "/.local/state"
        let perUser = "/run/user/\(uid)"
        let runtime = folder("XDG_RUNTIME_DIR") ?? (isDirectory(perUser) ? perUser : state)
        socket = file("timerd.sock", in: runtime)
        database = file("timerd.db", in: state)
        let settings = folder("XDG_CONFIG_HOME") ?? home + "/.config"
        configuration = file("timerd.json", in: settings)
        credentials = file("credentials", in: settings)
    }

    /// The paths of this process, by its effective uid.
    ///
    /// Reads the environment and the user database: call it at the start, before there are threads.
    public static var current: Self {
        var environment: [String: String] = [:]
        for variable in ["XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME"] {
            environment[variable] = getenv(variable).map { String(cString: $0) }
        }
        let uid = geteuid()
        // A service may run without HOME; the user database knows it still.
        if environment["HOME"] == nil {
            // try?: where nobody knows it, there is none.
            environment["HOME"] = (try? UserDatabase.user(uid))?.home
        }
        return Self(environment: environment, uid: uid) { path in
            var status = stat()
            return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        }
    }
}

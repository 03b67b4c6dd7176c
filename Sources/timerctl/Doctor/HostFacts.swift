// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import Schedules
import TimerWords

/// Facts of this machine about the daemon and what it depends on, read without asking the daemon.
struct HostFacts: Hashable {
    enum SocketFile: Hashable {
        case missing
        case notASocket
        case socket
    }

    var socketPath: String
    var socketFile: SocketFile
    var now: Timestamp
    /// Whether the kernel says that its clock is synchronized: adjtimex(2).
    var isClockSynchronized: Bool
    /// Whether the zone database is there.
    var hasZones: Bool
    /// Where it is looked for.
    var zonesFolder = Zone.standardDatabaseFolder
    /// The space for the database's folder: bytes that the daemon may still use, and all; nil if unknown.
    var space: Space?
    /// Who the daemon is; nil if its process cannot be seen.
    var daemon: DaemonUser?
    /// Those of the daemon's files and folders that can be seen.
    var files: [File] = []
    /// What backups and restores that were killed have left beside the database, as far as that can be seen.
    var leftovers: [String] = []
    /// The socket that is not at its path any more, though a program listens on it; nil if there is none.
    var lostSocket: LostSocket?
    /// The daemon's unit in systemd; nil if this machine does not run systemd.
    var service: Service?
    /// The service of the socket, where no daemon answers; nil if there is none.
    var serviceState: ServiceState?

    struct Space: Hashable {
        var free: Int64
        var all: Int64
        /// How many more files can be made; nil where the file system does not count them.
        var files: Int64?
        var isReadOnly = false
    }

    struct Service: Hashable {
        /// Whether the daemon that answers runs in the unit; nil where none answers.
        var runsDaemon: Bool?
        /// Whether it starts with the machine.
        var isEnabled: Bool
        /// Whether its unit is installed.
        var isInstalled: Bool
        /// Whether it was masked: it starts by nothing.
        var isMasked = false
        /// Whether what minds the runs is of this unit too, and not of one of its own.
        var hasRunner = false
    }

    /// A daemon of this machine.
    struct Process: Hashable {
        var pid: Int32
        /// Nil where it is not known.
        var database: String?
    }

    /// `daemon`: the one that listens here; nil if none does; `runner`: its runner, where that is known.
    static func read(socket: String, daemon: Process?, runner: Int32? = nil) -> Self {
        // TZDIR of whoever asks says nothing of a daemon.
        let zones =
            daemon.map { zonesFolder(of: $0.pid) ?? Zone.standardDatabaseFolder }
            ?? Zone.databaseFolder
        var facts = Self(
            socketPath: socket,
            socketFile: socketFile(socket),
            now: .now,
            // Where the kernel says nothing of the clock, nothing is wrong with it.
            isClockSynchronized: ClockKeeping.isSynchronized ?? true,
            hasZones: access(zones + "/Europe/Berlin", R_OK) == 0,
            zonesFolder: zones
        )
        if facts.socketFile != .socket { facts.lostSocket = lostSocket(at: socket) }
        if let daemon {
            facts.daemon = user(of: daemon.pid)
            facts.files = files(
                ofDatabase: daemon.database,
                configuration: configuration(of: daemon.pid, as: facts.daemon?.user)
            )
            if let database = daemon.database {
                facts.leftovers = leftovers(besideDatabase: database)
                facts.space = space(
                    of: resolved(database).parentFolder,
                    forRoot: (facts.daemon?.user ?? geteuid()) == 0
                )
            }
        }
        if access("/run/systemd/system", F_OK) == 0 {
            facts.service = service(daemon?.pid, runner: runner)
        }
        return facts
    }

    private static func socketFile(_ path: String) -> SocketFile {
        var status = stat()
        guard lstat(path, &status) == 0 else { return .missing }
        return status.st_mode & S_IFMT == S_IFSOCK ? .socket : .notASocket
    }

    private static func space(of folder: String, forRoot isRoot: Bool) -> Space? {
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return nil }
        // Root may use what is reserved, and so may a daemon that is root.
        let free = isRoot ? status.f_bfree : status.f_bavail
        let files = isRoot ? status.f_ffree : status.f_favail
        let size = Int64(status.f_frsize)
        return Space(
            free: Int64(clamping: free) * size,
            all: Int64(clamping: status.f_blocks) * size,
            files: status.f_files == 0 ? nil : Int64(clamping: files),
            isReadOnly: status.f_flag & UInt(ST_RDONLY) != 0
        )
    }

    private static func service(_ pid: Int32?, runner: Int32?) -> Service {
        let units = [
            "/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
            "/lib/systemd/system",
        ]
        // systemd.unit(5): masked is a unit that is a link to /dev/null, in /run until the next start of the machine.
        let isMasked = ["/etc/systemd/system", "/run/systemd/system"].contains { folder in
            target(ofLink: folder + "/timerd.service") == "/dev/null"
        }
        let enabled = "/etc/systemd/system/multi-user.target.wants/timerd.service"
        func isOfUnit(_ pid: Int32) -> Bool {
            Service.runs(cgroup: cgroup(of: pid), seenBy: geteuid())
        }
        return Service(
            runsDaemon: pid.map(isOfUnit),
            isEnabled: socketFile(enabled) != .missing,
            isInstalled: units.contains { access($0 + "/timerd.service", F_OK) == 0 },
            isMasked: isMasked,
            hasRunner: runner.map(isOfUnit) ?? false
        )
    }

    /// Where a symbolic link leads; nil for anything else.
    private static func target(ofLink path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &bytes, bytes.count)
        guard count >= 0 else { return nil }
        return String(decoding: bytes.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func cgroup(of pid: Int32) -> String {
        // try?: the process may be another user's, or may have ended.
        let bytes = try? InputFile.bytes(of: "/proc/\(pid)/cgroup")
        return String(decoding: bytes ?? [], as: UTF8.self)
    }
}

extension HostFacts.Service {
    /// Whether a process with this /proc/PID/cgroup is of the unit.
    ///
    /// To root the unit is the system's, and no user's of the same name, which lies below user@UID.service. To a user it is
    /// either of the two.
    static func runs(cgroup: String, seenBy uid: UInt32) -> Bool {
        let folder = uid == 0 ? "/system.slice/timerd.service" : "/timerd.service"
        return cgroup.split(separator: "\n").contains { line in
            line.hasSuffix(folder) || line.contains(folder + "/")
        }
    }
}

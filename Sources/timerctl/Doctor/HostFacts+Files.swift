// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import Schedules
import SystemPackage
import TimerControl

extension HostFacts {
    /// A file or folder that the daemon depends on.
    struct File: Hashable {
        enum Role: String {
            case database = "the database"
            case log = "the database's log"
            case folder = "the database's folder"
            case configuration = "the configuration"
        }

        var role: Role
        var path: String
        var mode: UInt32
        var user: UInt32
        var group: UInt32
        var userName: String?
    }

    /// Who the daemon's process is.
    struct DaemonUser: Hashable {
        var user: UInt32
        var group: UInt32
        var userName: String?
    }

    /// What can be seen of a database, what is beside it, and the configuration.
    static func files(ofDatabase path: String?, configuration: String?) -> [File] {
        var files: [(File.Role, String)] = []
        // SQLite's log is beside the file itself, not beside a link to it.
        if let path = path.map(resolved) {
            files = [
                (.database, path), (.log, path + "-wal"), (.log, path + "-shm"),
                (.folder, path.parentFolder),
            ]
        }
        return (files + (configuration.map { [(.configuration, $0)] } ?? []))
            .compactMap { file($0, at: $1) }
    }

    private static func file(_ role: File.Role, at path: String) -> File? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return File(
            role: role,
            path: path,
            mode: status.st_mode & 0o7777,
            user: status.st_uid,
            group: status.st_gid,
            userName: name(of: status.st_uid)
        )
    }

    /// What a backup or a restore that was killed has left in a database's folder.
    ///
    /// The files are of earlier versions, which nobody makes any more. A folder of this one is in use, unless a day has passed.
    static func leftovers(besideDatabase path: String) -> [String] {
        let path = resolved(path)
        let folder = path.parentFolder
        // try?: what cannot be read is not seen.
        let names = (try? InputFile.names(in: folder, skipsForbidden: true)) ?? []
        return names.filter { name in
            [".timerd-part", ".timerd-part-journal"].contains { name.hasSuffix($0) }
                || name == path.fileName + ".restored"
                || name.hasSuffix(".timerd-copy") && isOld(folder + "/" + name)
        }.sorted().map { folder == "/" ? "/\($0)" : "\(folder)/\($0)" }
    }

    private static func isOld(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return false }
        return time(nil) - status.st_mtim.tv_sec > 86_400
    }

    /// Where a path leads: what SQLite makes beside a database lies there, and not beside a link to it.
    static func resolved(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    private static func name(of user: UInt32) -> String? {
        // try?: its number says it too.
        (try? UserDatabase.user(user))?.name
    }

    // MARK: - The process

    /// The process that listens at a socket of this machine; nil if that cannot be found out.
    static func listener(at path: String) -> Int32? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = Glibc.socket(AF_UNIX, type, 0)
        guard descriptor != -1 else { return nil }
        defer { close(descriptor) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let isConnected = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, size) == 0
            }
        }
        guard isConnected else { return nil }
        // try?: who listens is not known then.
        let peer = try? UnixCredentials(peerOf: FileDescriptor(rawValue: descriptor))
        // 0 of a process that this one cannot see, as in a container.
        return peer.flatMap { $0.pid > 0 ? $0.pid : nil }
    }

    /// The user of the process, if it is a timerd that can be seen; in a container it may be another's number.
    static func user(of pid: Int32) -> DaemonUser? {
        guard isDaemon(pid) else { return nil }
        let lines = String(decoding: read("/proc/\(pid)/status"), as: UTF8.self).split(
            separator: "\n"
        )
        // The real id, the effective one, and two more.
        func effective(_ label: String) -> UInt32? {
            let words = lines.first { $0.hasPrefix(label) }?.split(whereSeparator: \.isWhitespace)
            return words.flatMap { $0.count > 2 ? UInt32($0[2]) : nil }
        }
        guard let user = effective("Uid:"), let group = effective("Gid:") else { return nil }
        return DaemonUser(user: user, group: group, userName: name(of: user))
    }

    /// The configuration file that the process was given, else the one of its user; nil if unknown.
    static func configuration(of pid: Int32, as user: UInt32?) -> String? {
        guard isDaemon(pid) else { return nil }
        let words = texts(in: "/proc/\(pid)/cmdline")
        let variables = texts(in: "/proc/\(pid)/environ")
        let option = words.firstIndex(of: "--config").flatMap { index in
            words.indices.contains(index + 1) ? words[index + 1] : nil
        }
        let given =
            option ?? value(of: "--config=", in: words)
            ?? value(of: "TIMERD_CONFIG=", in: variables)
        if let given { return given.hasPrefix("/") ? given : nil }
        if user == geteuid() { return DefaultPaths.current.configuration }
        guard user == 0 else { return nil }
        return DefaultPaths(environment: [:], uid: 0) { _ in false }.configuration
    }

    /// Where the daemon with that pid looks for zones, by its environment; nil where that cannot be read.
    static func zonesFolder(of pid: Int32) -> String? {
        let variables = texts(in: "/proc/\(pid)/environ")
        guard isDaemon(pid), !variables.isEmpty else { return nil }
        let set = value(of: "TZDIR=", in: variables) ?? ""
        return set.isEmpty ? Zone.standardDatabaseFolder : set
    }

    private static func value(of prefix: String, in words: [String]) -> String? {
        words.first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }

    private static func isDaemon(_ pid: Int32) -> Bool {
        texts(in: "/proc/\(pid)/cmdline").first?.split(separator: "/").last == "timerd"
    }

    private static func texts(in file: String) -> [String] {
        read(file).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func read(_ file: String) -> [UInt8] {
        // try?: the process may be another user's, or may have ended.
        (try? InputFile.bytes(of: file)) ?? []
    }
}

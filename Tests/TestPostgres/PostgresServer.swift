// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A PostgreSQL server of a test's own, with a new cluster in a temporary folder.
///
/// It listens on a Unix socket in that folder. It and its folder are gone once this object is, or the process has
/// ended, however it ended. What is called blocks. It belongs to one thread at a time.
package final class PostgresServer {
    package struct Options: Sendable {
        /// Whether it also listens on 127.0.0.1, at a port that is free.
        package var listensOnTCP = false
        /// Whether roles other than `postgres` need a password (scram-sha-256); without, nobody does.
        package var asksPasswords = false
        /// Lines of postgresql.conf.
        package var settings: [String: String] = [:]

        package init(
            listensOnTCP: Bool = false,
            asksPasswords: Bool = false,
            settings: [String: String] = [:]
        ) {
            self.listensOnTCP = listensOnTCP
            self.asksPasswords = asksPasswords
            self.settings = settings
        }
    }

    /// What a test is told that cannot have its server.
    package struct Failure: Error, CustomStringConvertible {
        package var description: String

        init(_ doing: String) { description = doing }

        /// Without `errno`, to be made right after the call.
        init(_ doing: String, errno: Int32) {
            description = "\(doing): \(String(cString: strerror(errno)))"
        }
    }

    /// Whether there is a PostgreSQL on this machine that can be started.
    package static var isInstalled: Bool { PostgresPrograms.folder != nil }

    /// The folder with the socket, the cluster (`data`) and the log (`log`).
    package let folder: String
    /// The port on 127.0.0.1; nil where it does not listen there.
    package let port: Int?
    private let portHolder: CInt?
    private let cleaner: FolderCleaner
    /// The postmaster; nil while there is none.
    private var postmaster: pid_t?

    /// Makes a cluster, and starts it; returns once it takes connections.
    package init(_ options: Options = Options()) throws {
        let template = try ClusterTemplate.shared.get().data
        let folder = try PostgresPrograms.makeFolder()
        self.folder = folder
        cleaner = try FolderCleaner(folder)
        let free = options.listensOnTCP ? try Self.freePort() : nil
        (port, portHolder) = (free?.port, free?.holder)
        try PostgresPrograms.run(["cp", "-a", template, folder + "/data"], log: folder + "/log")
        try append(Self.lines(options, folder: folder, port: port), to: "data/postgresql.conf")
        if options.asksPasswords {
            try append(
                """
                local all postgres trust
                local all all scram-sha-256
                host all all 127.0.0.1/32 scram-sha-256
                """,
                to: "data/pg_hba.conf",
                inPlace: true
            )
        }
        try start()
    }

    deinit {
        if let portHolder { close(portHolder) }
        // In order, so that it frees what it has of the system's shared memory; at once.
        guard let server = postmaster else { return }
        resume()
        Glibc.kill(server, SIGQUIT)
        _ = Limit.wait(seconds: 10) { Processes.hasEnded(server) }
        kill()
    }

    /// As a URI, through the socket, as its superuser.
    package var address: String { address(user: "postgres", database: "postgres") }

    package func address(user: String, database: String) -> String {
        "postgresql://\(user)@/\(database)?host=\(folder)&port=\(port ?? 5432)"
    }

    /// As a URI, through TCP, where it listens there.
    package var tcpAddress: String { "postgresql://postgres@127.0.0.1:\(port ?? 0)/postgres" }

    /// What the server has written to its log.
    package var log: String { PostgresPrograms.contents(of: folder + "/log") }

    // MARK: - Start and stop

    /// Starts it, if it does not run; returns once it takes connections.
    package func start() throws {
        guard postmaster == nil else { return }
        let server = try PostgresPrograms.start(
            ["postgres", "-D", folder + "/data"],
            log: folder + "/log"
        )
        postmaster = server
        // It writes there, once it takes connections, what pg_ctl looks for too.
        let isReady = Limit.wait(seconds: 60) {
            Processes.hasEnded(server)
                || PostgresPrograms.contents(of: folder + "/data/postmaster.pid")
                    .split(separator: "\n").last?.hasPrefix("ready") == true
        }
        guard isReady, !Processes.hasEnded(server) else {
            kill()
            throw Failure("PostgreSQL did not start: \(log)")
        }
    }

    /// Ends it in order, and its connections (`pg_ctl stop -m fast`); its cluster stays.
    package func stop() {
        guard let server = postmaster else { return }
        resume()
        Glibc.kill(server, SIGINT)
        _ = Limit.wait(seconds: 30) { Processes.hasEnded(server) }
        kill()
    }

    /// Ends it at once, as if the machine had lost its power, but for what the kernel still writes.
    package func kill() {
        guard let server = postmaster else { return }
        // Stopped first, so that it starts no more: it has stopped once that shows.
        Glibc.kill(server, SIGSTOP)
        _ = Limit.wait(seconds: 30) { Processes.hasStopped(server) }
        let children = Processes.children(of: server)
        for process in [server] + children { Glibc.kill(process, SIGKILL) }
        // They hold the shared memory, which the next start needs for itself.
        _ = Limit.wait(seconds: 30) { ([server] + children).allSatisfy(Processes.hasEnded) }
        Processes.reap(server)
        removeSharedMemory()
        // Its number may be another's by the time that somebody reads it there.
        unlink(folder + "/data/postmaster.pid")
        postmaster = nil
    }

    /// What a server that was killed leaves with the kernel, up to the next start: line 7 of its file has the number.
    private func removeSharedMemory() {
        let lines = PostgresPrograms.contents(of: folder + "/data/postmaster.pid")
            .split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count > 6,
            let number = lines[6].split(separator: " ").last.flatMap({ CInt($0) })
        else { return }
        shmctl(number, IPC_RMID, nil)
    }

    /// Ends it in order, and starts it again.
    package func restart() throws {
        stop()
        try start()
    }

    /// Has it and all that serve connections stand still (SIGSTOP), so that it is silent on open connections.
    package func pause() {
        guard let server = postmaster else { return }
        for process in [server] + Processes.children(of: server) { Glibc.kill(process, SIGSTOP) }
    }

    /// Has it go on after `pause`.
    package func resume() {
        guard let server = postmaster else { return }
        for process in Processes.children(of: server) + [server] { Glibc.kill(process, SIGCONT) }
    }

    // MARK: - Files

    private static func lines(_ options: Options, folder: String, port: Int?) -> String {
        var settings = [
            "listen_addresses": port == nil ? "" : "127.0.0.1",
            "port": "\(port ?? 5432)",
            "unix_socket_directories": folder,
            // A server that is killed loses nothing by that: the kernel has it.
            "fsync": "off",
            "shared_buffers": "16MB",
            "max_connections": "50",
            // In files of its folder, which is removed, however the server ends.
            "dynamic_shared_memory_type": "mmap",
        ]
        settings.merge(options.settings) { $1 }
        return settings.sorted { $0.key < $1.key }
            .map { "\($0.key) = '\(quoted($0.value))'" }
            .joined(separator: "\n")
    }

    private static func quoted(_ value: String) -> String {
        value.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
    }

    private func append(_ text: String, to name: String, inPlace: Bool = false) throws {
        let flags = O_WRONLY | O_CLOEXEC | (inPlace ? O_TRUNC : O_APPEND)
        let file = open("\(folder)/\(name)", flags)
        guard file >= 0 else {
            throw Failure("cannot open '\(folder)/\(name)'", errno: errno)
        }
        defer { close(file) }
        let bytes = Array("\n\(text)\n".utf8)
        guard write(file, bytes, bytes.count) == bytes.count else {
            throw Failure("cannot write '\(folder)/\(name)'", errno: errno)
        }
    }

    /// One that was free, and the socket that holds it as long as that is open.
    ///
    /// The kernel gives it to nobody who asks for any port then, also while the server does not run. The server has it all the
    /// same: both sockets say SO_REUSEADDR, and this one does not listen (socket(7)).
    private static func freePort() throws -> (port: Int, holder: CInt) {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var isAddressReused: CInt = 1
        let length = socklen_t(MemoryLayout<CInt>.size)
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &isAddressReused, length)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, size) == 0 && getsockname(socket, $0, &size) == 0
            }
        }
        guard isBound else {
            let problem = errno
            close(socket)
            throw Failure("no free port", errno: problem)
        }
        return (Int(UInt16(bigEndian: address.sin_port)), socket)
    }
}

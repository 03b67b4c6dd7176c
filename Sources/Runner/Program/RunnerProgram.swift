// SPDX-License-Identifier: Apache-2.0

import CSpawn
// `stat` belongs to CoreFoundation if any module of the program imports that, and to Glibc otherwise.
import CoreFoundation
import Glibc
import LinuxSystem
import Platform
package import SystemPackage

/// `timerd-runner` as a program: where its socket is, and how it is started.
package struct RunnerProgram: Sendable {
    /// The program itself.
    var executable = Self.besideThisOne
    /// Where it listens.
    var socket: String
    /// It ends once no daemon is connected and nothing is left: who has started it may not come back.
    var arguments = ["--until-idle"]
    /// Whether one is started where none listens.
    var starts = true
    /// Whether it says what it has to say where this process does, and not by syslog.
    ///
    /// The first process of a container ends last, so that its log is read for as long as a runner may write to it.
    var sharesErrors = getpid() == 1
    /// What it has as its input, and for its output, which are nobody's.
    var null = "/dev/null"
    /// Gets the pid of one that was started: a child, for whose end nobody waits here.
    ///
    /// The daemon has the kernel remove its children (`ProcessSignals`).
    var started: @Sendable (pid_t) -> Void = { _ in }

    /// The runner that was installed with this program: in its folder.
    static let besideThisOne: String = {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        let program = String(
            decoding: path.prefix(max(count, 0)).map(UInt8.init(bitPattern:)),
            as: UTF8.self
        )
        let folder = program.lastIndex(of: "/").map { program[..<$0] } ?? "."
        return "\(folder)/timerd-runner"
    }()

    /// Opens a connection with the runner that listens, or else with one that this starts.
    package func connect() throws(RunnerUnreachable) -> FileDescriptor {
        let connection = try connected()
        do throws(RunnerUnreachable) {
            try check(connection)
        } catch {
            connection.closeForGood()
            throw error
        }
        return connection
    }

    private func connected() throws(RunnerUnreachable) -> FileDescriptor {
        do throws(Errno) {
            return try attached { Self.connect($0, $1, $2) }
        } catch  where starts && (error == .connectionRefused || error == .noSuchFileOrDirectory) {
            return try start(after: error)
        } catch {
            throw unreachable("connect to", error)
        }
    }

    /// Where a runner hangs, and as many connections wait for it as may, this is an error: connect(2) would wait for good,
    /// and the loop's thread with it.
    private static func connect(
        _ descriptor: CInt,
        _ address: UnsafePointer<sockaddr>,
        _ size: socklen_t
    ) -> CInt {
        let flags = fcntl(descriptor, F_GETFL)
        guard fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != -1 else { return -1 }
        guard Glibc.connect(descriptor, address, size) == 0 else { return -1 }
        return fcntl(descriptor, F_SETFL, flags)
    }

    /// Another user's program would be told every command, and could say what it likes of its end.
    private func check(_ connection: FileDescriptor) throws(RunnerUnreachable) {
        let peer: UnixCredentials
        do throws(Errno) {
            peer = try UnixCredentials(peerOf: connection)
        } catch {
            throw unreachable("ask who listens at", error)
        }
        guard [0, geteuid()].contains(peer.uid) else {
            throw RunnerUnreachable(
                "user \(peer.uid) listens at '\(socket)', accepted is user \(geteuid()) or root"
            )
        }
    }

    private func unreachable(_ doing: String, _ cause: Errno) -> RunnerUnreachable {
        RunnerUnreachable("cannot \(doing) '\(socket)': \(cause.text)")
    }

    /// Starts a runner, which has the listening socket from its beginning, and this connection waiting there: one that has
    /// nothing to do, as what it finds of another has ended, ends before anybody could connect with it.
    ///
    /// `cause`: why it could not be connected with.
    ///
    /// - Throws: also where one lives whose socket is not there: beside it runs would begin a second time.
    private func start(after cause: Errno) throws(RunnerUnreachable) -> FileDescriptor {
        let isUnheard = cause == .connectionRefused && UnixSocketTable.hasUnheard(at: wholePath)
        if let holder {
            // In the place of its socket's file is one at which nobody listens, as of a backup: it makes its own anew once that
            // is gone. try?: what is no socket stays, and so does the runner.
            if cause == .connectionRefused, !isUnheard { try? removeLeftSocket() }
            throw held(by: holder)
        }
        // It is connected with at the next try.
        guard !isUnheard else {
            throw RunnerUnreachable("another process has made '\(socket)', and does not listen yet")
        }
        try removeLeftSocket()
        let listener: FileDescriptor
        do throws(Errno) {
            listener = try attached { bind($0, $1, $2) }
        } catch {
            throw unreachable("listen at", error)
        }
        defer { listener.closeForGood() }
        guard chmod(socket, 0o600) == 0, listen(listener.rawValue, 16) == 0 else {
            throw unreachable("listen at", .last)
        }
        let connection: FileDescriptor
        do throws(Errno) {
            connection = try attached { Self.connect($0, $1, $2) }
        } catch {
            unlink(socket)
            throw unreachable("connect to", error)
        }
        do throws(RunnerUnreachable) {
            try spawn(listener)
        } catch {
            connection.closeForGood()
            unlink(socket)
            throw error
        }
        return connection
    }

    private func spawn(_ listener: FileDescriptor) throws(RunnerUnreachable) {
        // Here, and not in the new process, which would say no more than that the program cannot be started.
        let null = Glibc.open(self.null, O_RDWR | O_CLOEXEC)
        guard null != -1 else {
            throw RunnerUnreachable(
                "cannot open '\(self.null)' for timerd-runner: \(Errno.last.text)"
            )
        }
        defer { close(null) }
        var words: [UnsafeMutablePointer<CChar>?] =
            ([executable] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var pid: Int32 = 0
        let error = cspawn_program(
            executable,
            &words,
            null,
            listener.rawValue,
            sharesErrors ? 1 : 0,
            &pid
        )
        guard error == 0 else {
            throw RunnerUnreachable("cannot start '\(executable)': \(Errno(rawValue: error).text)")
        }
        started(pid)
    }

    /// Which process has the runner's place as long as it lives; below 1 for one that has no number here, nil for none.
    package var holder: Int32? {
        var holder: Int32 = 0
        return cspawn_is_held("\(socket)-lock", &holder) == 0 ? nil : holder
    }

    /// That one lives; `holder`: below 1 for a process that has no number here, as in another PID namespace.
    func held(by holder: Int32) -> RunnerUnreachable {
        let isNamed = holder > 0
        return RunnerUnreachable(
            (isNamed ? "process \(holder)" : "a process that has no number here")
                + " goes on as the timerd-runner of '\(socket)', where it does not listen; it makes that anew"
                + (isNamed ? ", or 'kill \(holder)' ends it and its runs" : ""),
            isThere: true
        )
    }

    /// Removes what is left of a runner that is gone.
    ///
    /// - Throws: for what is no socket: it may be anything that somebody still needs.
    private func removeLeftSocket() throws(RunnerUnreachable) {
        var file = stat()
        guard lstat(socket, &file) == 0 else { return }
        guard file.st_mode & S_IFMT == S_IFSOCK else {
            throw RunnerUnreachable(SocketError(socket, SocketError.otherFile).description)
        }
        unlink(socket)
    }

    /// `socket`, from the root on.
    private var wholePath: String {
        guard !socket.hasPrefix("/"), let folder = realpath(".", nil) else { return socket }
        defer { free(folder) }
        return "\(String(cString: folder))/\(socket)"
    }

    /// A Unix socket, bound or connected to `socket`.
    private func attached(
        _ attach: (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) throws(Errno) -> FileDescriptor {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let size = MemoryLayout.size(ofValue: address.sun_path)
        guard socket.utf8.count < size else { throw .fileNameTooLong }
        // Whole, where that fits: the runner works in another folder, and hands its epoch on beside its socket.
        let whole = wholePath
        let path = whole.utf8.count < size ? whole : socket
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let descriptor = Glibc.socket(
            AF_UNIX,
            CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue),
            0
        )
        guard descriptor != -1 else { throw .last }
        let code = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                attach(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0 else {
            let cause = Errno.last
            close(descriptor)
            throw cause
        }
        return FileDescriptor(rawValue: descriptor)
    }
}

extension RunnerProgram {
    /// The one beside this program, which listens at `socket` or is started there; `started` gets the pid of one that was.
    package init(socket: String, started: @escaping @Sendable (Int32) -> Void = { _ in }) {
        self.init(executable: Self.besideThisOne, socket: socket, started: started)
    }
}

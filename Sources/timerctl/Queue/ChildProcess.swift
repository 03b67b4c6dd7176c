// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Locks
import SystemPackage

/// A process of this one, in a process group of its own, with pipes as standard input and standard error.
struct ChildProcess {
    let pid: pid_t
    private let input: Int32
    private let errors: Int32

    /// One at a time: no process is to inherit the pipes of another one.
    private static let starting = Locked(())
    /// The longest line that is kept.
    private static let longestLine = 3072

    /// `variables` are added to the environment, in place of what begins with `TIMERD_` there.
    init(_ arguments: [String], _ variables: [String]) throws(Errno) {
        (pid, input, errors) = try Self.starting.withLock {
            _ throws(Errno) -> (pid_t, Int32, Int32) in
            let (inputEnd, input) = try Self.pipe()
            defer { close(inputEnd) }
            let (errors, errorsEnd): (Int32, Int32)
            do throws(Errno) {
                (errors, errorsEnd) = try Self.pipe()
            } catch {
                close(input)
                throw error
            }
            defer { close(errorsEnd) }
            let (pid, code) = Self.spawn(arguments, variables, inputEnd, errorsEnd)
            guard code == 0 else {
                close(input)
                close(errors)
                throw Errno(rawValue: code)
            }
            return (pid, input, errors)
        }
        for end in [input, errors] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    }

    private static func pipe() throws(Errno) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw Errno(rawValue: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func spawn(
        _ arguments: [String],
        _ variables: [String],
        _ input: Int32,
        _ errors: Int32
    ) -> (pid: pid_t, code: Int32) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // SwiftNIO has SIGPIPE ignored, which a program would inherit.
        var (usual, none) = (sigset_t(), sigset_t())
        sigemptyset(&usual)
        sigemptyset(&none)
        sigaddset(&usual, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &usual)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)
        )
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var environment: [UnsafeMutablePointer<CChar>?] = []
        var next = environ
        while let entry = next.pointee {
            // The daemon that this worker asks is the command's as well.
            if strncmp(entry, "TIMERD_", 7) != 0 || strncmp(entry, "TIMERD_SOCKET=", 14) == 0 {
                environment.append(strdup(entry))
            }
            next += 1
        }
        environment += variables.map { strdup($0) } + [nil]
        defer { for pointer in words + environment { free(pointer) } }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, arguments[0], &actions, &attributes, &words, &environment)
        return code == 0 ? (pid, 0) : (0, code)
    }

    /// Writes what it reads, and passes on what it writes to standard error, until it ends; its last line there that
    /// is not empty.
    ///
    /// A process that it leaves behind may keep the pipes open: that is not waited for.
    func lastError(writing bytes: [UInt8]) -> String {
        // Without a descriptor for the process its end is that of the pipe.
        let end = pidfd_open(pid, 0)
        defer { for descriptor in [end, errors] where descriptor >= 0 { close(descriptor) } }
        var rest = bytes[...]
        var (isWriting, isReading) = (true, true)
        var lines = LastLine()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            if isWriting, rest.isEmpty {
                close(input)
                isWriting = false
            }
            var polled = [
                pollfd(fd: isReading ? errors : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: end, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isWriting ? input : -1, events: Int16(POLLOUT), revents: 0),
            ]
            if poll(&polled, 3, -1) == -1, errno != EINTR { break }
            if polled[2].revents != 0 {
                let count = rest.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
                // Who does not read it does not want it.
                if count < 0, errno != EAGAIN, errno != EINTR { rest = [] }
                if count > 0 { rest = rest.dropFirst(count) }
            }
            let hasEnded = polled[1].revents != 0
            guard polled[0].revents != 0 || hasEnded else { continue }
            let count = read(errors, &buffer, buffer.count)
            if count > 0 {
                let read = Array(buffer[..<count])
                // try?: where nobody reads it there is nowhere to report that.
                try? Output.write(read, toError: true)
                lines.add(read, atMost: Self.longestLine)
            } else if hasEnded || end < 0 {
                break
            } else if count == 0 {
                // It has closed it, and goes on.
                isReading = false
            }
        }
        if isWriting { close(input) }
        return lines.text
    }

    /// Waits until it has ended, and leaves its number to it.
    func waitForEnd() {
        var info = siginfo_t()
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) == -1, errno == EINTR {}
    }

    /// The status as waitpid(2) has it; its number may then be another's.
    func reap() -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) == -1, errno == EINTR {}
        return status
    }
}

/// The last line of a text that is not empty, of a length that is bounded.
struct LastLine {
    private var line: [UInt8] = []
    private var last: [UInt8] = []

    mutating func add(_ bytes: [UInt8], atMost limit: Int) {
        for byte in bytes {
            if byte == 0x0A {
                if line.contains(where: { $0 > 0x20 }) { last = line }
                line = []
            } else if line.count < limit {
                line.append(byte)
            }
        }
    }

    var text: String {
        let bytes = line.contains { $0 > 0x20 } ? line : last
        let text = String(decoding: bytes, as: UTF8.self)
        return String(text.reversed().drop(while: \.isWhitespace).reversed())
    }
}

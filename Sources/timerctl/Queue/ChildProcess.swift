// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import SystemPackage

/// A process of this one, in a process group of its own, with pipes as standard input and standard error.
struct ChildProcess {
    let pid: pid_t
    private let input: Int32
    private let errors: Int32

    /// The longest line that is kept.
    private static let longestLine = 3072

    /// `variables` are added to the environment, in place of what begins with `TIMERD_` there.
    init(_ arguments: [String], _ variables: [String]) throws(Errno) {
        let (inputEnd, input) = try Spawn.pipe()
        defer { close(inputEnd) }
        let (errors, errorsEnd): (Int32, Int32)
        do throws(Errno) {
            (errors, errorsEnd) = try Spawn.pipe()
        } catch {
            close(input)
            throw error
        }
        defer { close(errorsEnd) }
        do throws(Errno) {
            pid = try Spawn.start(
                arguments,
                descriptors: [STDIN_FILENO: inputEnd, STDERR_FILENO: errorsEnd],
                environment: Self.surroundings + variables.map { Array($0.utf8CString) },
                leadsGroup: true
            )
        } catch {
            close(input)
            close(errors)
            throw error
        }
        (self.input, self.errors) = (input, errors)
        for end in [input, errors] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    }

    /// The daemon that this worker asks is the command's as well.
    private static var surroundings: [[CChar]] {
        Spawn.environment.filter {
            strncmp($0, "TIMERD_", 7) != 0 || strncmp($0, "TIMERD_SOCKET=", 14) == 0
        }
    }

    /// Writes what it reads, and passes on what it writes to standard error, until it ends; its last line there that
    /// is not empty.
    ///
    /// A process that it leaves behind may keep the pipes open, and write for ever: that is not waited for.
    func lastError(writing bytes: [UInt8]) -> String {
        // Without a descriptor for the process its end is that of the pipe.
        let end = pidfd_open(pid, 0)
        defer { for descriptor in [end, errors] where descriptor >= 0 { close(descriptor) } }
        var rest = bytes[...]
        var (isWriting, isReading) = (true, true)
        // What is to be read yet, once it has ended: what the pipe held then is all that it can have written.
        var left: Int?
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
            if polled[1].revents != 0, left == nil { left = Self.unread(errors) }
            guard polled[0].revents != 0 || left != nil else { continue }
            let count = read(errors, &buffer, min(buffer.count, left ?? .max))
            if count > 0 {
                left = left.map { $0 - count }
                let read = Array(buffer[..<count])
                Output.passOn(read)
                lines.add(read, atMost: Self.longestLine)
            } else if left != nil || end < 0 {
                break
            } else if count == 0 {
                // It has closed it, and goes on.
                isReading = false
            }
        }
        if isWriting { close(input) }
        return lines.text
    }

    /// How many bytes a pipe holds.
    private static func unread(_ pipe: Int32) -> Int {
        var bytes: Int32 = 0
        return ioctl(pipe, UInt(FIONREAD), &bytes) == 0 ? Int(bytes) : 0
    }

    /// Waits until it has ended, and leaves its number to it.
    func waitForEnd() {
        var info = siginfo_t()
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) == -1, errno == EINTR {}
    }

    /// The status as waitpid(2) has it; its number may then be another's.
    func reap() -> Int32 { Spawn.end(of: pid) }
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

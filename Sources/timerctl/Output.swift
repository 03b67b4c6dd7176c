// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import SystemPackage

/// Standard output and standard error of a command.
enum Output {
    /// Writes text to standard output, all of it, at once.
    ///
    /// - Throws: 74 for what the file refuses. A reader that has gone away ends the program quietly.
    static func write(_ text: String) throws(Failure) {
        var text = text
        let error = text.withUTF8 { write(UnsafeRawBufferPointer($0), to: STDOUT_FILENO) }
        if let error { throw failure(error, "standard output") }
    }

    /// Writes bytes as they are to standard output or standard error.
    static func write(_ bytes: [UInt8], toError isError: Bool) throws(Failure) {
        let error = bytes.withUnsafeBytes {
            write($0, to: isError ? STDERR_FILENO : STDOUT_FILENO)
        }
        if let error { throw failure(error, isError ? "standard error" : "standard output") }
    }

    /// Writes one line to standard error; where that fails, nobody is left to be told.
    static func tell(_ line: String) {
        var text = Printable.escaped(line) + "\n"
        _ = text.withUTF8 { write(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
    }

    /// Tells of trouble: "timerctl: <message>".
    static func complain(_ message: String) {
        tell("timerctl: \(message)")
    }

    private static func failure(_ error: Int32, _ file: String) -> Failure {
        Failure(.inputOutput, "cannot write to \(file): \(Errno(rawValue: error).text)")
    }

    /// Writes all bytes; the errno of what kept it from doing so.
    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(
                descriptor,
                UnsafeRawBufferPointer(rebasing: rest).baseAddress,
                rest.count
            )
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE {
                dieOfBrokenPipe()
            } else if errno == EAGAIN {
                // Somebody else who has this file open set it to non-blocking.
                var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = Glibc.poll(&poll, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return nil
    }

    /// Ends as any filter does whose reader has gone; SwiftNIO has the signal ignored.
    private static func dieOfBrokenPipe() -> Never {
        signal(SIGPIPE, SIG_DFL)
        raise(SIGPIPE)
        exit(128 + SIGPIPE)
    }
}

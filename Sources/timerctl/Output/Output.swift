// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import SystemPackage
import TimerControl

/// Writes to standard output and standard error.
enum Output {
    /// Writes text to standard output, all of it, at once.
    ///
    /// - Throws: 74 if the write fails. A reader that has gone away ends the program quietly.
    static func write(_ text: String) throws(Failure) {
        var text = text
        let error = text.withUTF8 { write(UnsafeRawBufferPointer($0), to: STDOUT_FILENO) }
        if let error { throw failure(error, "standard output") }
    }

    /// Writes what tells of something that was done; the error says `done`, so that nobody does it once more.
    ///
    /// `done`: such as "job 2 was added".
    static func write(_ text: String, done: @autoclosure () -> String) throws(Failure) {
        do throws(Failure) {
            try write(text)
        } catch {
            throw Failure(error.status, "\(done()), but: \(error.message)")
        }
    }

    /// The same of a job that was added.
    static func write(_ text: String, added job: Job) throws(Failure) {
        try write(text, done: "job \(job.id) was added")
    }

    /// Writes bytes as they are to standard output or standard error.
    static func write(_ bytes: [UInt8], toError isError: Bool) throws(Failure) {
        let error = bytes.withUnsafeBytes {
            write($0, to: isError ? STDERR_FILENO : STDOUT_FILENO)
        }
        if let error { throw failure(error, isError ? "standard error" : "standard output") }
    }

    /// Writes bytes as they are to standard error; if that fails, there is nowhere to report it.
    ///
    /// Nobody need read it: what a worker does is not ended by that.
    static func passOn(_ bytes: [UInt8]) {
        _ = bytes.withUnsafeBytes { write($0, to: STDERR_FILENO, needsReader: false) }
    }

    /// Writes one line to standard error; if that fails, there is nowhere to report it.
    static func tell(_ line: String) { passOn(Array((Printable.escaped(line) + "\n").utf8)) }

    /// Writes an error to standard error: "timerctl: <message>".
    static func complain(_ message: String) {
        tell("timerctl: \(message)")
    }

    private static func failure(_ error: Int32, _ file: String) -> Failure {
        Failure(.inputOutput, "cannot write to \(file): \(Errno(rawValue: error).text)")
    }

    /// Writes all bytes; returns the errno if that failed, else nil.
    ///
    /// `needsReader`: whether the program ends where nobody reads it.
    private static func write(
        _ bytes: UnsafeRawBufferPointer,
        to descriptor: Int32,
        needsReader: Bool = true
    ) -> Int32? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(
                descriptor,
                UnsafeRawBufferPointer(rebasing: rest).baseAddress,
                rest.count
            )
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE, needsReader {
                dieOfBrokenPipe()
            } else if errno == EAGAIN {
                // Another process that has this file open has set it to non-blocking.
                var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = Glibc.poll(&poll, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return nil
    }

    /// Ends by SIGPIPE, as any filter without a reader does; SwiftNIO has set the signal to be ignored.
    private static func dieOfBrokenPipe() -> Never {
        signal(SIGPIPE, SIG_DFL)
        raise(SIGPIPE)
        exit(128 + SIGPIPE)
    }
}

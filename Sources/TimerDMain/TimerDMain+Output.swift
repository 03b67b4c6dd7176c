// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import LinuxSystem
import Platform
import SystemPackage
import TimerWords

/// The program's words on a terminal, and its end.
extension TimerDMain {
    /// Carries out what the arguments say, and ends the process with its status.
    static func carryOut() async -> Never {
        do {
            let command = try parse()
            try await command.run()
            leave(EXIT_SUCCESS)
        } catch let status as ExitCode {
            leave(status.rawValue)
        } catch  where exitCode(for: error).isSuccess {
            // What was asked for: help, the version, a script for completions.
            do throws(ExitCode) {
                try write(fullMessage(for: error))
                Glibc.exit(EXIT_SUCCESS)
            } catch {
                Glibc.exit(error.rawValue)
            }
        } catch {
            let lines = fullMessage(for: error).split(separator: "\n").map(String.init)
            tell(lines.map(HiddenCharacters.escaped).joined(separator: "\n"))
            Glibc.exit(exitCode(for: error).rawValue)
        }
    }

    /// Ends the process once what was logged is written, if anybody reads it.
    private static func leave(_ status: Int32) -> Never {
        RecordQueue.standardError.flush()
        Glibc.exit(status)
    }

    /// Says why the process ends, behind what was logged.
    static func complainLast(_ sentence: String, after prefix: String) {
        let records = RecordQueue.standardError
        let line = prefix + HiddenCharacters.escaped(sentence)
        // Where nothing was, there may be no thread yet, and is none needed.
        guard records.isUsed else { return tell(line) }
        records.writeLast(line + "\n")
    }

    /// Writes text and the end of its line to standard output, all of it.
    static func write(_ text: String) throws(ExitCode) {
        // What was logged before comes before it, where both go to one place.
        RecordQueue.standardError.flush()
        do throws(Errno) {
            try write(text + "\n", to: STDOUT_FILENO)
        } catch {
            throw failure("cannot write to standard output: \(error.text)", inputOutput)
        }
    }

    /// Says something on standard error: "timerd: <sentence>".
    static func complain(_ sentence: String) {
        tell("timerd: \(HiddenCharacters.escaped(sentence))")
    }

    private static func tell(_ text: String) {
        // try?: if that fails, there is nowhere to report it.
        try? write(text + "\n", to: STDERR_FILENO)
    }

    private static func write(_ text: String, to descriptor: Int32) throws(Errno) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Another process that has this file open has set it to non-blocking.
                var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = Glibc.poll(&poll, 1, -1)
            } else if errno != EINTR {
                throw .last
            }
        }
    }
}

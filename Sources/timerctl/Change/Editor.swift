// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import SystemPackage
import TimerWords

/// A text that the user changes in an editor of their own.
///
/// It is in a file that nobody else can read. Whatever happens the file stays, and is named, unless the text is
/// of no more use.
struct Editor {
    let path: String
    private let command: String
    private var openings = 0

    /// How often a program that nobody sits before may be asked: it may make another mistake each time.
    private static let mostOpenings = 5

    /// - Throws: 74 where no file can be made.
    init(
        named name: String,
        suffix: String = ".yaml",
        environment: (String) -> String? = Self.variable
    ) throws(Failure) {
        command =
            ["VISUAL", "EDITOR"].lazy.compactMap(environment).first { !$0.isEmpty }
            ?? Self.standard(environment("PATH") ?? "/usr/bin:/bin")
        let folder = environment("TMPDIR") ?? "/tmp"
        // The number only keeps the user's own editors apart: the file must be new.
        path = "\(folder)/timerctl-\(name)-\(UInt32.random(in: .min ... .max))\(suffix)"
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file != -1 else {
            throw Failure(
                .inputOutput,
                "no file for the text can be made in '\(folder)': \(Errno.last.text)"
            )
        }
        close(file)
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// Debian's `editor`, else vi, which POSIX has everywhere.
    private static func standard(_ path: String) -> String {
        let folders = path.split(separator: ":")
        return folders.contains { access("\($0)/editor", X_OK) == 0 } ? "editor" : "vi"
    }

    /// The text as the user leaves it.
    ///
    /// - Throws: 74 where the editor ends with another status than 0, or the file cannot be read or written; 65
    ///     where it was asked again and again, and standard input is no terminal.
    mutating func edit(_ text: String) throws(Failure) -> String {
        try write(text)
        guard openings < Self.mostOpenings || isatty(STDIN_FILENO) == 1 else {
            throw Failure(
                .badData,
                "the editor '\(command)' was asked \(openings) times, and the text still has mistakes; nothing was "
                    + "changed, and the text is kept in \(path), below its mistakes"
            )
        }
        openings += 1
        // The shell, because the variable may hold options; it waits, and leaves Ctrl-C to the editor.
        let status: Int32
        do throws(Errno) {
            status = try Spawn.shell("\(command) \(ShellWords.joined([path]))")
        } catch {
            throw Failure(.inputOutput, "no shell for the editor can be started: \(error.text)")
        }
        let isThere = access(path, F_OK) == 0
        guard status == 0 else {
            let words = "the editor '\(command)' \(Self.end(status)); nothing was changed"
            // As with ":cq" in vi: the text may have what is secret of the job, and nothing of the user's.
            if openings == 1, isThere, isAsWritten(text) {
                remove()
                throw Failure(.inputOutput, words)
            }
            throw Failure(
                .inputOutput,
                words + ", and the text " + (isThere ? "is kept in \(path)" : "was removed")
            )
        }
        guard isThere else {
            throw Failure(
                .inputOutput,
                "the editor '\(command)' has removed the text, '\(path)'; nothing was changed"
            )
        }
        let bytes: [UInt8]
        do {
            bytes = try InputFile.bytes(of: path, atMost: InputFile.largestOfJobs)
        } catch {
            throw error.saying("\(error.message); the text is kept in \(path)")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure(.badData, "the text is not UTF-8; it is kept in \(path)")
        }
        return text
    }

    private func isAsWritten(_ text: String) -> Bool {
        // try?: what cannot be read may be another text, and is kept.
        let bytes = try? InputFile.bytes(of: path, atMost: InputFile.largestOfJobs)
        return bytes?.elementsEqual(text.utf8) == true
    }

    /// Writes a file of its own first, so that a full disk does not take what the user has written.
    private func write(_ text: String) throws(Failure) {
        let new = path + ".new"
        do {
            let file = try FileDescriptor.open(
                new,
                .writeOnly,
                options: [.create, .exclusiveCreate, .noFollow, .closeOnExec],
                permissions: .ownerReadWrite
            )
            try file.closeAfter { _ = try file.writeAll(text.utf8) }
            guard rename(new, path) == 0 else { throw Errno.last }
        } catch {
            unlink(new)
            let reason = (error as? Errno)?.text ?? "\(error)"
            let words = "'\(path)' cannot be written: \(reason)"
            guard openings == 0 else {
                throw Failure(
                    .inputOutput,
                    "\(words); nothing was changed, and the text is in it as it was saved"
                )
            }
            // Nobody has written anything yet.
            remove()
            throw Failure(.inputOutput, words)
        }
    }

    /// "ended with status 1"; `status` is as waitpid(2) has it.
    static func end(_ status: Int32) -> String {
        let signal = status & 0x7F
        return signal == 0
            ? "ended with status \(status >> 8 & 0xFF)"
            : "was ended by signal \(SignalName.words(signal))"
    }

    func remove() { unlink(path) }

    /// Says where the text is, before an error that does not.
    func tellKept() { Output.tell("the text is kept in \(path)") }

    /// The result of `body`; where that throws, it is said where the text is.
    func keeping<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            tellKept()
            throw error
        }
    }
}

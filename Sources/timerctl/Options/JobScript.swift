// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerControl

/// A script for /bin/sh, read when its job is added.
struct JobScript: Hashable {
    let text: String

    /// What a run executes: the shell gets the script as an argument, as standard input is userInfo's.
    var command: [String] { .shell(text) }

    /// The longest one: with the shell and its option before it, it is a command.
    static let limit = Limits.command - [String].shell("").reduce(0) { $0 + $1.utf8.count + 1 }

    /// - Throws: 65 for one that is empty, too long, not UTF-8 or has a NUL.
    init(_ bytes: [UInt8], from name: String) throws(Failure) {
        guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
            throw Failure(.badData, "\(name) is no script: it is not UTF-8, or has a NUL")
        }
        guard !text.allSatisfy(\.isWhitespace) else {
            throw Failure(
                .badData,
                "no command: \(name) is empty; give a script there, a command after '--', or "
                    + "--event for an event alone"
            )
        }
        guard bytes.count <= Self.limit else {
            throw Failure(
                .badData,
                "the script is \(bytes.count) bytes long, accepted are \(Self.limit); keep it in "
                    + "a file, and have the job run that"
            )
        }
        self.text = text
    }

    /// The script on standard input, to its end; who types it is told what to do.
    static func standardInput() throws(Failure) -> Self {
        if StandardInput.current == .terminal {
            Output.tell("type the commands for /bin/sh; Ctrl-D on a line of its own ends them")
        }
        return try Self(try InputFile.bytes(of: "-"), from: "standard input")
    }

    /// The script in a file.
    static func file(_ path: String) throws(Failure) -> Self {
        try Self(try InputFile.bytes(of: path), from: "'\(path)'")
    }

    /// Refuses to add an event where a script may wait on standard input: nobody would ever read it.
    static func refuseDropped(_ input: StandardInput) throws(Failure) {
        guard input == .stream else { return }
        throw Failure(
            .usage,
            "no command, and standard input is not a terminal; --shell - runs what it says, a "
                + "command goes after '--', and --event adds an event alone"
        )
    }
}

/// What standard input is.
enum StandardInput {
    case terminal
    /// A pipe, a socket, or a file with something left to read.
    case stream
    /// Closed, at its end, or a device such as /dev/null.
    case nothing

    static var current: Self { of(STDIN_FILENO) }

    /// Tells of something piped in that nothing has read: a command that is given finds userInfo there.
    static func tellIfLeft() {
        guard isLeft(on: STDIN_FILENO) else { return }
        Output.complain(
            "note: what is on standard input was not read; --user-info - hands it to the runs, as "
                + "JSON, and --shell - runs it as a script"
        )
    }

    /// Whether something is there that is this program's alone to read; it neither waits nor reads.
    ///
    /// A loop of `while read` has its further lines there: in a file whose beginning was read, or in a pipe that is
    /// the parent's input too. What is written to a pipe later on is not known. `parents`: the path of the
    /// parent's input.
    static func isLeft(
        on descriptor: Int32,
        parents path: String = "/proc/\(getppid())/fd/0"
    ) -> Bool {
        guard of(descriptor) == .stream else { return false }
        var own = stat()
        guard fstat(descriptor, &own) == 0 else { return false }
        // Of a file the parent says nothing: dash has it as its own input for one command as well.
        if own.st_mode & S_IFMT == S_IFREG { return lseek(descriptor, 0, SEEK_CUR) == 0 }
        // The links say which pipe each is. None is followed: the parent's may lead to a network disk that hangs.
        guard let ours = target(of: "/proc/self/fd/\(descriptor)"), let theirs = target(of: path),
            ours != theirs
        else { return false }
        var bytes: Int32 = 0
        return ioctl(descriptor, UInt(FIONREAD), &bytes) == 0 && bytes > 0
    }

    /// Where a link leads, as it says, up to 4,096 bytes of it; nil for what is no link.
    private static func target(of link: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = bytes.withUnsafeMutableBytes { buffer -> Int in
            guard let start = buffer.bindMemory(to: CChar.self).baseAddress else { return -1 }
            return readlink(link, start, buffer.count)
        }
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }

    static func of(_ descriptor: Int32) -> Self {
        if isatty(descriptor) == 1 { return .terminal }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return .nothing }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return lseek(descriptor, 0, SEEK_CUR) < status.st_size ? .stream : .nothing
        case S_IFIFO, S_IFSOCK: return .stream
        default: return .nothing
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc
import Subprocess
import SystemPackage

/// The file that a command means, and why it could not be executed.
///
/// swift-subprocess would look in the daemon's own PATH where the run has none, and has one error
/// for what is missing, forbidden, a directory, or has no interpreter.
struct CommandLookup: Sendable {
    /// The file to execute, absolute or relative to `workingDirectory`.
    let file: String
    let workingDirectory: String

    /// Takes argv[0] as it is if it has a slash, else the first executable file of that name.
    ///
    /// Searches the PATH of the run, and of that only the absolute directories.
    init(_ request: RunRequest) throws(StartRefusal) {
        let command = request.argv[0]
        workingDirectory = request.workingDirectory
        guard !command.contains("/") else {
            file = command
            return
        }
        let path = request.environment["PATH"] ?? RunEnvironment.path
        let files = path.split(separator: ":").filter { $0.hasPrefix("/") }
            .map { "\($0)/\(command)" }
        guard let found = files.first(where: { Self.obstacle(to: $0) == nil }) else {
            let isForbidden = files.contains { Self.obstacle(to: $0) == .permissionDenied }
            let cause = isForbidden ? Errno.permissionDenied : .noSuchFileOrDirectory
            throw StartRefusal(
                "cannot run \(StartRefusal.quote(command)): \(cause.text) in PATH "
                    + StartRefusal.quote(path)
            )
        }
        file = found
    }

    /// What an error of swift-subprocess means that came instead of a process.
    func refusal(for error: any Error) -> StartRefusal {
        let doing = "cannot run \(StartRefusal.quote(file))"
        guard let error = error as? SubprocessError else {
            return StartRefusal("\(doing): \(error)")
        }
        switch (error.code, error.underlyingError) {
        case (.executableNotFound, _):
            return refusalOfFile(doing)
        case (.failedToChangeWorkingDirectory, let cause?):
            let directory = StartRefusal.quote(workingDirectory)
            return StartRefusal("cannot enter working directory \(directory)", cause)
        case (_, let cause?):
            return StartRefusal(doing, cause)
        case (_, nil):
            return StartRefusal("\(doing): \(error)")
        }
    }

    /// Looks for what the kernel meant, which says only that something is missing or forbidden.
    private func refusalOfFile(_ doing: String) -> StartRefusal {
        let file = absolute(file)
        if let obstacle = Self.obstacle(to: file) { return StartRefusal(doing, obstacle) }
        guard let interpreter = Self.interpreter(of: file) else {
            return StartRefusal("\(doing): its loader or interpreter is missing")
        }
        let cause = Self.obstacle(to: absolute(interpreter)) ?? .noSuchFileOrDirectory
        return StartRefusal("\(doing): its interpreter \(StartRefusal.quote(interpreter))", cause)
    }

    private func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : "\(workingDirectory)/\(path)"
    }

    /// What keeps `file` from being executed, as far as the file itself goes.
    private static func obstacle(to file: String) -> Errno? {
        var status = stat()
        guard stat(file, &status) == 0 else { return Errno(rawValue: errno) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: return .isDirectory
        default: return .permissionDenied
        }
        guard faccessat(AT_FDCWD, file, X_OK, AT_EACCESS) == 0 else {
            return Errno(rawValue: errno)
        }
        return nil
    }

    /// What stands after `#!` in the first line of a script; nil for other files.
    private static func interpreter(of file: String) -> String? {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor != -1 else { return nil }
        defer { close(descriptor) }
        // The kernel looks no further (execve(2), BINPRM_BUF_SIZE).
        var start = [UInt8](repeating: 0, count: 256)
        let count = read(descriptor, &start, start.count)
        guard count > 2, start.starts(with: "#!".utf8) else { return nil }
        let line = start[2..<count].prefix { $0 != UInt8(ascii: "\n") }
        let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return words.first.map { String(decoding: $0, as: UTF8.self) }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import TimerControl

/// The program of a handler that the daemon runs for jobs of all users, looked at on this machine.
struct HandlerProgram: Hashable {
    var option: String
    var program: String
    /// What is wrong with it; nil if nothing is, or if it cannot be known before a run.
    var fault: String?

    /// Those that `defaults` of `daemon.status` names.
    static func read(_ defaults: [String: JSONValue]) -> [Self] {
        [JobOption.onFailure, .onSuccess].compactMap { option in
            // try?: what a newer daemon has is not known here.
            guard let json = defaults[option.rawValue],
                case .texts(let words)? = try? option.value(of: json), let program = words.first
            else { return nil }
            return Self(option: option.rawValue, program: program, fault: fault(of: program))
        }
    }

    /// Why a run could not become it, by the folders that are searched where a job sets no PATH.
    static func fault(of program: String) -> String? {
        if program.hasPrefix("/") { return fault(at: program) }
        // It is looked for from the directory of each job.
        if program.contains("/") { return nil }
        let paths = PlainPath.folders.split(separator: ":").map { "\($0)/\(program)" }
        let there = paths.filter { access($0, F_OK) == 0 }
        guard let first = there.first else { return "it is not in PATH '\(PlainPath.folders)'" }
        return there.contains { fault(at: $0) == nil } ? nil : fault(at: first)
    }

    private static func fault(at path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            switch errno {
            case ENOENT, ENOTDIR: return "there is no '\(path)'"
            case EACCES: return "'\(path)' cannot be reached by you"
            default: return nil
            }
        }
        guard status.st_mode & S_IFMT == S_IFREG else { return "'\(path)' is no file" }
        guard access(path, X_OK) == 0 else {
            return errno == EACCES ? "'\(path)' is not executable" : nil
        }
        return closedPart(of: path).map {
            "'\($0)' is for its owner alone, and runs are their jobs' owners'"
        }
            ?? interpreterFault(of: path)
    }

    /// The file, or the folder above it, that lets nobody but root in; nil if there is none.
    private static func closedPart(of path: String) -> String? {
        guard geteuid() == 0 else { return nil }
        var part = path
        while part != "/" {
            var status = stat()
            if stat(part, &status) == 0, status.st_uid == 0, status.st_mode & 0o011 == 0 {
                return part
            }
            part = part.parentFolder
        }
        return nil
    }

    /// What is wrong with the program that a script's first line names.
    private static func interpreterFault(of path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = Glibc.read(file, &bytes, bytes.count)
        guard count > 2, bytes[0] == UInt8(ascii: "#"), bytes[1] == UInt8(ascii: "!"),
            let line = bytes[2..<count].split(
                separator: UInt8(ascii: "\n"),
                omittingEmptySubsequences: false
            ).first,
            let word = line.split(whereSeparator: { $0 == 0x20 || $0 == 0x09 }).first
        else { return nil }
        let interpreter = String(decoding: word, as: UTF8.self)
        guard access(interpreter, X_OK) != 0 else { return nil }
        return
            "'\(path)' names the interpreter '\(Printable.escaped(interpreter))', which is not there"
    }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import SystemPackage
import TimerControl

/// What a script is typed in, and runs in as at(1) has it: working directory, umask and environment.
struct Surroundings: Hashable {
    var folder: String
    var umask: mode_t
    /// Variables and the names of those that cannot be kept.
    var environment: [String: String]
    var leftOut: [String] = []

    /// - Throws: 74 for a working directory that is gone.
    static func current() throws(Failure) -> Self {
        guard let path = getcwd(nil, 0) else {
            throw Failure(
                .inputOutput,
                "the working directory cannot be told: \(Errno.last.text); say --cwd"
            )
        }
        defer { free(path) }
        let mask = Glibc.umask(0o022)
        _ = Glibc.umask(mask)
        var entries: [[UInt8]] = []
        var next = environ
        while let entry = next.pointee {
            entries.append(
                UnsafeBufferPointer(start: entry, count: strlen(entry))
                    .map(UInt8.init(bitPattern:))
            )
            next += 1
        }
        return Self(folder: String(cString: path), umask: mask, entries: entries)
    }

    init(folder: String, umask: mode_t, entries: [[UInt8]]) {
        self.init(folder: folder, umask: umask, environment: [:])
        for entry in entries { add(entry) }
    }

    private init(folder: String, umask: mode_t, environment: [String: String]) {
        (self.folder, self.umask, self.environment) = (folder, umask, environment)
    }

    /// Takes "NAME=value", unless it is one that at(1) leaves out too, or one of a run itself.
    private mutating func add(_ bytes: [UInt8]) {
        guard let sign = bytes.firstIndex(of: UInt8(ascii: "=")), sign > 0 else { return }
        let name = String(decoding: bytes[..<sign], as: UTF8.self)
        if Self.ofTheSession.contains(name) || name.hasPrefix("TIMERD_") { return }
        // No job may have it.
        if name.beginsWithDigit { return leftOut.append(name) }
        // A repaired name would be that of another variable.
        guard name.utf8.elementsEqual(bytes[..<sign]),
            let value = String(validating: bytes[(sign + 1)...], as: UTF8.self)
        else { return leftOut.append(name) }
        environment[name] = value
    }

    /// What belongs to the terminal and the shell that are left.
    private static let ofTheSession: Set<String> = [
        "TERM", "DISPLAY", "_", "SHELLOPTS", "BASH_VERSINFO", "EUID", "GROUPS", "PPID", "UID",
    ]

    /// What was given by options stays.
    func apply(to definition: inout JobDefinition) {
        definition.cwd = definition.cwd ?? folder
        definition.umask = definition.umask ?? "0" + String(umask, radix: 8)
        definition.env = environment.merging(definition.env ?? [:]) { $1 }
    }

    var notes: [String] {
        let names = leftOut.sorted()
        return [
            (names.filter { !$0.beginsWithDigit }, "not UTF-8"),
            (names.filter { $0.beginsWithDigit }, "no variable's name begins with a digit"),
        ].filter { !$0.0.isEmpty }.map { names, reason in
            "the job goes without \(names.joined(separator: ", ")): \(reason)"
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import TimerWords

/// The findings about who may read and change what the daemon stores and goes by.
extension Diagnosis {
    /// One for each fault, else one for all; none where nothing can be seen.
    static func permissions(_ facts: HostFacts) -> [Finding] {
        guard !facts.files.isEmpty else { return [] }
        let faults = facts.files.flatMap { file in
            [strangersFile(file, facts), openFile(file, facts)].compactMap(\.self)
        }
        return faults.isEmpty ? [.ok("permissions", sentence(facts.files))] : faults
    }

    private static func strangersFile(_ file: HostFacts.File, _ facts: HostFacts) -> Finding? {
        guard let daemon = facts.daemon, file.user != 0, file.user != daemon.user else {
            return nil
        }
        let owner = file.userName.map { "'\($0)'" } ?? "uid \(file.user)"
        let words = ["chown", daemon.userName ?? "\(daemon.user)", file.path]
        return .warning(
            "permissions",
            "\(file.role.rawValue) '\(file.path)' belongs to \(owner), who may \(file.role.harm); accepted are root "
                + "and the daemon's user",
            ShellWords.joined(words)
        )
    }

    private static func openFile(_ file: HostFacts.File, _ facts: HostFacts) -> Finding? {
        guard file.mode & tooMuch(file, facts) != 0 else { return nil }
        let words = ["chmod", file.role.isPrivate ? "600" : "go-w", file.path]
        return .warning(
            "permissions",
            "others may \(file.role.harm): the mode of \(file.role.rawValue) '\(file.path)' is "
                + String(file.mode, radix: 8),
            ShellWords.joined(words)
        )
    }

    /// The bits of a mode by which others may do what is nobody's but the daemon's.
    private static func tooMuch(_ file: HostFacts.File, _ facts: HostFacts) -> UInt32 {
        if file.role.isPrivate { return 0o077 }
        // In a sticky folder nobody can move what belongs to somebody else.
        if file.role == .folder, file.mode & 0o1000 != 0 { return 0 }
        // As the daemon has it at its start: unless it is root, its own group is trusted like itself.
        let isOwnGroup = facts.daemon.map { $0.user != 0 && $0.group == file.group } ?? false
        return file.group == 0 || isOwnGroup ? 0o002 : 0o022
    }

    private static func sentence(_ files: [HostFacts.File]) -> String {
        let roles = Set(files.map(\.role))
        let database =
            roles.contains(.database)
            ? "the database is its user's alone" : "nobody else may replace the database"
        let parts: [String?] = [
            roles == [.configuration] ? nil : database,
            files.first { $0.role == .configuration }.map {
                "nobody else may change '\($0.path)'"
            },
        ]
        return parts.compactMap(\.self).joined(separator: ", and ")
    }
}

extension HostFacts.File.Role {
    /// Whether nobody else may even read it.
    fileprivate var isPrivate: Bool {
        switch self {
        case .database, .log: true
        case .folder, .configuration: false
        }
    }

    /// What somebody else could do with it.
    fileprivate var harm: String {
        switch self {
        case .database, .log: "read commands and outputs, and change them"
        case .folder: "replace the database"
        case .configuration: "change the settings"
        }
    }
}

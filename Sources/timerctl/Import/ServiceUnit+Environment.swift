// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The variables of a service, the files of variables, and the credentials.
extension ServiceUnit {
    /// What Environment= sets.
    mutating func variables() throws(Mistake) -> [String: String] {
        var variables: [String: String] = [:]
        for setting in settings("Environment") {
            for word in try words(of: setting) {
                let parts = word.split(
                    separator: "=",
                    maxSplits: 1,
                    omittingEmptySubsequences: false
                )
                if parts.count == 2 {
                    variables[String(parts[0])] = String(parts[1])
                } else {
                    notes.append(
                        setting.carriedOtherwise(
                            "without '\(word)', which sets no variable; systemd skips it, too"
                        )
                    )
                }
            }
        }
        return variables
    }

    private func words(of setting: UnitFile.Setting) throws(Mistake) -> [String] {
        do {
            var words: [String] = []
            for word in try UnitCommand.split(setting.value[...]) {
                words.append(try specifiers.expanded(word))
            }
            return words
        } catch {
            throw error.at(setting)
        }
    }

    /// A file of variables, as it stands in the unit.
    private struct EnvironmentFile {
        var setting: UnitFile.Setting
        var path: String
        /// Whether it may lack.
        var isOptional: Bool
    }

    /// The files of variables, which each run reads; an empty value takes back those before it.
    func environmentFiles() throws(Mistake) -> [String]? {
        let files = try filesOfVariables().map { ($0.isOptional ? "-" : "") + $0.path }
        return files.isEmpty ? nil : files
    }

    private func filesOfVariables() throws(Mistake) -> [EnvironmentFile] {
        var files: [EnvironmentFile] = []
        for setting in settings("EnvironmentFile") {
            let isOptional = setting.value.hasPrefix("-")
            let path = try expanded(setting, isOptional ? setting.value.dropFirst() : nil)
            guard !path.contains(where: { "*?[".contains($0) }) else {
                throw Mistake(
                    reason: "it is a pattern, and timerd reads files by their names",
                    setting: setting
                )
            }
            files.append(EnvironmentFile(setting: setting, path: path, isOptional: isOptional))
        }
        return files
    }

    /// The files that systemd copies for the service; an empty value takes back those before it.
    mutating func readCredentials(_ definition: inout JobDefinition) throws(Mistake) {
        var credentials: [String] = []
        for setting in settings("LoadCredential") {
            let words = try expanded(setting)
            let colon = words.firstIndex(of: ":")
            let name = String(words[..<(colon ?? words.endIndex)])
            let stated = colon.map { String(words[words.index(after: $0)...]) } ?? name
            let isStored = !stated.hasPrefix("/")
            let found = isStored ? storedCredential(stated) : stated
            guard found != nil || isStored && mayHaveCredential(stated) else {
                notes.append(
                    setting.notCarried(
                        "systemd has no credential '\(stated)' and goes on without it, where a run would not begin"
                    )
                )
                continue
            }
            if let path = found, owner.uid == 0 || isUser {
                credentials.append("\(name):\(path)")
            } else {
                credentials.append(name)
                notes.append(
                    setting.carriedOtherwise(
                        "for a run of \(owner.name) put the file at "
                            + "'/etc/timerd/credentials/\(owner.name)/\(name)', mode 0600"
                    )
                )
            }
            do throws(OptionRefusal) {
                try JobOption.credentials.check(.texts(credentials))
            } catch {
                throw Mistake(reason: "\(error)", setting: setting)
            }
        }
        if !credentials.isEmpty { definition.credentials = credentials }
    }

    /// Where systemd has a credential that is loaded without an absolute path; nil if it has none, which is no fault
    /// there (systemd.exec(5)).
    private func storedCredential(_ name: String) -> String? {
        Self.credentialFolders.map { "\($0)/\(name)" }.first { hasFile($0) == true }
    }

    /// Whether one may be where this user cannot look, as systemd can.
    private func mayHaveCredential(_ name: String) -> Bool {
        Self.credentialFolders.contains { hasFile("\($0)/\(name)") == nil }
    }

    private static let credentialFolders = [
        "/run/credentials/@system", "/etc/credstore", "/run/credstore",
        "/usr/local/lib/credstore", "/usr/lib/credstore",
    ]

    /// What ExecStart may take from those files.
    mutating func variablesOfFiles() throws(Mistake) -> [String: String] {
        var variables: [String: String] = [:]
        for file in try filesOfVariables() {
            do throws(Failure) {
                let text = try readFile(file.path)
                for (name, value) in try Self.assignments(in: text) { variables[name] = value }
                if takesVariables {
                    notes.append(
                        file.setting.carriedOtherwise(
                            "what ExecStart takes from it was read now; a later change of that needs a new "
                                + "import"
                        )
                    )
                }
            } catch {
                guard file.isOptional else {
                    throw Mistake(reason: error.message, setting: file.setting)
                }
            }
        }
        return variables
    }

    private var takesVariables: Bool {
        Self.commandNames.contains { name in
            settings(name).contains { $0.value.contains("$") }
        }
    }

    private static func assignments(in file: String) throws(Failure) -> [(String, String)] {
        var result: [(String, String)] = []
        for line in file.split(whereSeparator: \.isNewline) {
            let line = line.trimmingBlanks
            guard let first = line.first, !"#;".contains(first),
                let equals = line.firstIndex(of: "=")
            else { continue }
            let value = line[line.index(after: equals)...].trimmingBlanks
            do {
                let words = try UnitCommand.split(value)
                let isQuoted = value.first == "\"" || value.first == "'"
                result.append(
                    (
                        String(line[..<equals]),
                        isQuoted ? words.joined(separator: " ") : String(value)
                    )
                )
            } catch {
                throw Failure(.badData, error.reason)
            }
        }
        return result
    }
}

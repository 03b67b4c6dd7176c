// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The variables of a service, the files of variables, and the credentials.
extension ServiceUnit {
    /// What Environment= sets.
    mutating func variables() throws(Mistake) -> [String: String] {
        var variables: [String: String] = [:]
        for text in unit.values("Environment", in: "Service") {
            for word in try UnitCommand.split(text[...]) {
                let parts = try specifiers.expanded(word).split(
                    separator: "=",
                    maxSplits: 1,
                    omittingEmptySubsequences: false
                )
                if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            }
        }
        return variables
    }

    /// The files of variables, which each run reads; an empty value takes back those before it.
    func environmentFiles() throws(Mistake) -> [String]? {
        var files: [String] = []
        for text in unit.values("EnvironmentFile", in: "Service") {
            let isOptional = text.hasPrefix("-")
            let path = try specifiers.expanded(isOptional ? String(text.dropFirst()) : text)
            guard !path.contains(where: { "*?[".contains($0) }) else {
                throw Mistake(
                    reason:
                        "EnvironmentFile=\(text) is a pattern, and timerd reads files by their names"
                )
            }
            files.append((isOptional ? "-" : "") + path)
        }
        return files.isEmpty ? nil : files
    }

    /// The files that systemd copies for the service; an empty value takes back those before it.
    mutating func readCredentials(_ definition: inout JobDefinition) throws(Mistake) {
        var credentials: [String] = []
        for text in unit.values("LoadCredential", in: "Service") {
            let words = try specifiers.expanded(text)
            let colon = words.firstIndex(of: ":")
            let name = String(words[..<(colon ?? words.endIndex)])
            let path = colon.map { String(words[words.index(after: $0)...]) } ?? ""
            let folder =
                isUser ? "~/.config/timerd/credentials" : "/etc/timerd/credentials/\(owner.name)"
            if path.hasPrefix("/"), owner.uid == 0 || isUser {
                credentials.append("\(name):\(path)")
                continue
            }
            credentials.append(name)
            notes.append(
                "LoadCredential=\(text): for a run of \(owner.name) put the file at '\(folder)/\(name)', mode 0600"
            )
        }
        guard !credentials.isEmpty else { return }
        do throws(OptionRefusal) {
            try JobOption.credentials.check(.texts(credentials))
            definition.credentials = credentials
        } catch {
            throw Mistake(reason: "LoadCredential: \(error)")
        }
    }

    /// What ExecStart may take from those files.
    mutating func variablesOfFiles() throws(Mistake) -> [String: String] {
        var variables: [String: String] = [:]
        for text in try environmentFiles() ?? [] {
            let path = text.hasPrefix("-") ? String(text.dropFirst()) : text
            do throws(Failure) {
                let file = String(decoding: try readFile(path), as: UTF8.self)
                for (name, value) in try Self.assignments(in: file) { variables[name] = value }
                if takesVariables {
                    notes.append(
                        "EnvironmentFile=\(path): what ExecStart takes from it was read now; a later "
                            + "change of that needs a new import"
                    )
                }
            } catch {
                if !text.hasPrefix("-") { throw Mistake(reason: error.message) }
            }
        }
        return variables
    }

    private var takesVariables: Bool {
        Self.commandNames.contains { name in
            unit.values(name, in: "Service").contains { text in text.contains("$") }
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

// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The variables of a service, the files of variables, and the credentials.
extension ServiceUnit {
    /// What Environment= sets.
    mutating func variables() throws(Mistake) -> [String: String] {
        var variables: [String: String] = [:]
        for setting in settings("Environment") {
            for word in try words(of: setting) {
                let parts = word.unicodeScalars.split(
                    separator: "=",
                    maxSplits: 1,
                    omittingEmptySubsequences: false
                )
                if parts.count == 2, VariableFile.isName(String(parts[0])) {
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
            for word in try UnitCommand.split(setting.value) {
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

    /// What ExecStart may take from those files, as systemd reads them.
    ///
    /// - Throws: for a file that cannot be read, and one of which a run would not take what systemd does.
    mutating func variablesOfFiles() throws(Mistake) -> [String: String] {
        var variables: [String: String] = [:]
        for file in try filesOfVariables() {
            if !mayRead(owner, file.path) {
                notes.append(
                    file.setting.carriedOtherwise(
                        "a run reads it with the rights of \(owner.name), who may not, and would end with "
                            + "status 66: let \(owner.name) read it, or give --start-unit"
                    )
                )
            }
            let text: String
            do throws(Failure) {
                text = try readFile(file.path)
            } catch {
                if file.isOptional { continue }
                throw Mistake(reason: error.message, setting: file.setting)
            }
            variables.merge(try self.variables(in: text, of: file)) { $1 }
            if takesVariables {
                notes.append(
                    file.setting.carriedOtherwise(
                        "what ExecStart takes from it was read now; a later change of that needs a new "
                            + "import"
                    )
                )
            }
        }
        return variables
    }

    /// What systemd takes from a file; a run has to take the same, and what it takes beside that is told of.
    ///
    /// No value is shown: it may be a secret.
    private mutating func variables(
        in text: String,
        of file: EnvironmentFile
    ) throws(Mistake) -> [String: String] {
        let contents = VariableFile(text)
        let ofRun: [String: String]
        do throws(VariableFile.Unread) {
            ofRun = try contents.ofRun()
        } catch {
            throw Mistake(
                reason:
                    "each run would end with status 65, as line \(error.line) of it \(error.reason); "
                    + "mend the line, or give --start-unit",
                setting: file.setting
            )
        }
        let ofSystemd = contents.ofSystemd
        for name in ofSystemd.keys.sorted() where ofRun[name] != ofSystemd[name] {
            throw Mistake(
                reason:
                    "a run would not take the '\(name)' that systemd takes from it: write its value on one line, in "
                    + #"double quotes and with a backslash before each ", \, $ and `, or give --start-unit"#,
                setting: file.setting
            )
        }
        let more = ofRun.keys.filter { ofSystemd[$0] == nil }.sorted()
        if !more.isEmpty {
            notes.append(
                file.setting.carriedOtherwise(
                    "a run takes \(more.joined(separator: ", ")) from it as well, which systemd skips"
                )
            )
        }
        return ofSystemd
    }

    private var takesVariables: Bool {
        Self.commandNames.contains { name in
            settings(name).contains { $0.value.contains("$") }
        }
    }
}

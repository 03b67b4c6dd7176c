// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerControl
import TimerWords

/// The command of a service and its settings: systemd.service(5) and systemd.exec(5), as far as a run has
/// them.
struct ServiceUnit {
    var unit: UnitFile
    var owner: LocalUser
    var isUser: Bool
    /// Reads a file of variables.
    var readFile: (String) throws(Failure) -> String = { path throws(Failure) in
        try InputFile.text(of: path)
    }
    /// Whether there is a file; nil where this user may not see that.
    var hasFile: (String) -> Bool? = { path in
        if access(path, F_OK) == 0 { return true }
        return errno == ENOENT || errno == ENOTDIR ? false : nil
    }
    /// Whether a user may read a file, as far as this one can tell.
    var mayRead: (LocalUser, String) -> Bool = { user, path in user.mayRead(path) }
    /// What a job does not have of it, each with its place.
    var notes: [String] = []

    typealias Mistake = UnitCommand.Mistake

    init(_ unit: UnitFile, owner: LocalUser, isUser: Bool) {
        self.unit = unit
        self.owner = owner
        self.isUser = isUser
    }

    /// The settings that are read here.
    static let known: Set = [
        "Type", "ExecStart", "ExecStartPre", "ExecStartPost", "User", "Group", "WorkingDirectory",
        "Environment", "EnvironmentFile", "Nice", "TimeoutStartSec", "TimeoutStopSec", "TimeoutSec",
        "RuntimeMaxSec", "UMask", "LimitAS", "LimitCPU", "MemoryMax", "MemoryHigh", "CPUWeight",
        "CPUQuota", "TasksMax", "IOWeight", "SuccessExitStatus", "Restart",
        "RestartSec", "DynamicUser", "LoadCredential",
    ]

    func settings(_ name: String) -> [UnitFile.Setting] { unit.settings(name, in: "Service") }

    /// The last one of a setting, or of several.
    func setting(_ names: String...) -> UnitFile.Setting? { unit.last(of: names, in: "Service") }

    var isOneshot: Bool {
        settings("Type").last { Self.types.contains($0.value) }?.value == "oneshot"
    }

    private static let types = [
        "simple", "exec", "forking", "oneshot", "dbus", "notify", "notify-reload", "idle",
    ]

    /// The last one with a value that systemd knows; tells of the others, which it skips, so that those before them count.
    mutating func known(_ name: String, _ values: [String], _ reason: String) -> UnitFile.Setting? {
        let all = settings(name)
        let unknown = all.filter { !values.contains($0.value) }
        notes += unknown.map { $0.notCarried("\(reason); systemd skips it, too") }
        return all.last { values.contains($0.value) }
    }

    var specifiers: UnitSpecifiers {
        UnitSpecifiers(unit: unit, owner: owner, isUser: isUser)
    }

    /// A setting's value, or a part of it, with what "%n" and the like stand for.
    func expanded(
        _ setting: UnitFile.Setting,
        _ part: Substring? = nil
    ) throws(Mistake) -> String {
        do {
            return try specifiers.expanded(part.map(String.init) ?? setting.value)
        } catch {
            throw error.at(setting)
        }
    }

    /// Sets the command and its settings in `definition`.
    mutating func apply(to definition: inout JobDefinition) throws(Mistake) {
        try readType()
        let variables = try variables()
        definition.env = variables.isEmpty ? nil : variables
        definition.envFile = try environmentFiles()
        try readCredentials(&definition)
        // What systemd tells each service of its user.
        let user = ["HOME": owner.home, "USER": owner.name, "LOGNAME": owner.name]
        try readCommand(
            &definition,
            user.merging(variables) { $1 }.merging(variablesOfFiles()) { $1 }
        )
        definition.cwd = try folder()
        readLimits(&definition)
        readTimes(&definition)
        try readRestart(&definition)
        if let group = setting("Group"), group.value != owner.name {
            notes.append(group.notCarried("a run has its user's own groups"))
        }
    }

    private mutating func readType() throws(Mistake) {
        if unit.isOn("DynamicUser", in: "Service") {
            throw Mistake(
                reason: "only systemd makes users; give --start-unit",
                setting: setting("DynamicUser")
            )
        }
        notes += unit.untrue(["DynamicUser"], in: "Service")
        guard let type = known("Type", Self.types, "there is no such type") else { return }
        switch type.value {
        case "forking", "dbus":
            throw Mistake(
                reason: "a run ends with its first process; give --start-unit",
                setting: type
            )
        case "notify", "notify-reload":
            notes.append(type.carriedOtherwise("nothing waits for its word that it is ready"))
        case "idle": notes.append(type.carriedOtherwise("a run does not wait for other units"))
        default: break
        }
    }

    // MARK: - The command

    static let commandNames = ["ExecStartPre", "ExecStart", "ExecStartPost"]

    /// Sets the command, and the statuses of it that are no failure.
    ///
    /// Those statuses are of ExecStart= alone. Several commands become one line for the shell, which goes on after such
    /// a status, and ends with any other.
    private mutating func readCommand(
        _ definition: inout JobDefinition,
        _ variables: [String: String]
    ) throws(Mistake) {
        let successCodes = readSuccess()
        var all: [UnitCommand] = []
        var lines: [String] = []
        var mainCount = 0
        for name in Self.commandNames {
            let isMain = name == "ExecStart"
            for setting in settings(name) {
                let own: [UnitCommand]
                do {
                    own = try commands(of: setting, variables)
                } catch {
                    throw error.at(setting)
                }
                all += own
                lines += own.map { Self.line($0, successCodes: isMain ? successCodes : []) }
                if isMain { mainCount += own.count }
                guard isOneshot || mainCount < 2 else {
                    throw Mistake(
                        reason: "systemd runs several commands with Type=oneshot alone",
                        setting: setting
                    )
                }
                if name == "ExecStartPost", !isOneshot {
                    notes.append(
                        setting.carriedOtherwise("it is run when ExecStart= has ended well")
                    )
                }
            }
        }
        guard mainCount > 0 else {
            throw Mistake(reason: "'\(unit.name)' has no ExecStart; give --start-unit")
        }
        if all.count == 1, !all[0].mayFail {
            definition.command = all[0].words
            if !successCodes.isEmpty { definition.successCodes = successCodes.union([0]).sorted() }
        } else {
            definition.command = ["/bin/sh", "-c", lines.joined(separator: " && ")]
        }
    }

    /// A command as a part of a line for the shell; a failure of one that may fail ends with 0, as do `successCodes`.
    private static func line(_ command: UnitCommand, successCodes: Set<Int32>) -> String {
        let line = Self.line(command.words)
        if command.mayFail { return "{ \(line) || :; }" }
        let codes = successCodes.subtracting([0]).sorted().map(String.init)
        guard !codes.isEmpty else { return line }
        return "{ \(line) || case $? in \(codes.joined(separator: "|"))) ;; *) exit $?;; esac; }"
    }

    /// The commands of one setting; tells of what a run does otherwise.
    private mutating func commands(
        of setting: UnitFile.Setting,
        _ variables: [String: String]
    ) throws(Mistake) -> [UnitCommand] {
        let commands = try UnitCommand.all(
            in: setting.value,
            specifiers: specifiers,
            variables: variables
        )
        for command in commands {
            if command.hasMoreRights, owner.uid != 0 {
                throw Mistake(reason: "it asks for root's rights; give --start-unit")
            }
            if let name = command.ownName, name != command.words[0] {
                notes.append(
                    setting.carriedOtherwise(
                        "the program is told '\(command.words[0])' as its own name, not '\(name)'"
                    )
                )
            }
        }
        let unset = commands.reduce(into: Set()) { $0.formUnion($1.unset) }
        guard !unset.contains("CREDENTIALS_DIRECTORY") else {
            throw Mistake(
                reason:
                    "it takes $CREDENTIALS_DIRECTORY, which is known in a run alone: have a script take "
                    + "it, or give --start-unit"
            )
        }
        if !unset.isEmpty {
            let names = unset.sorted().map { "$\($0)" }.joined(separator: ", ")
            notes.append(
                setting.carriedOtherwise(
                    "neither Environment= nor a file that is there now sets \(names), so it is empty in "
                        + "the job"
                )
            )
        }
        return commands
    }

    /// The words as a line for any POSIX shell, which may not know the "$'…'" of bash.
    private static func line(_ words: [String]) -> String {
        guard words.contains(where: { $0.unicodeScalars.contains(where: HiddenCharacters.contain) })
        else { return ShellWords.joined(words) }
        return words.map(ShellWords.singleQuoted).joined(separator: " ")
    }

    // MARK: - Its surroundings

    /// The working directory.
    ///
    /// systemd starts a system service in "/" and a user's service in the home folder, which is timerd's
    /// default.
    private mutating func folder() throws(Mistake) -> String? {
        guard let setting = setting("WorkingDirectory") else { return isUser ? nil : "/" }
        let mayLack = setting.value.hasPrefix("-")
        if mayLack { notes.append(setting.carriedOtherwise("a run fails where it is missing")) }
        let path = setting.value.dropFirst(mayLack ? 1 : 0)
        if path == "~" { return nil }
        let folder = try expanded(setting, path)
        guard folder.hasPrefix("/") else {
            throw Mistake(
                reason: "it is no absolute path; systemd refuses it, too",
                setting: setting
            )
        }
        return folder
    }
}

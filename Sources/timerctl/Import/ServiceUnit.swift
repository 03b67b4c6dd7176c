// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// The command of a service and its settings: systemd.service(5) and systemd.exec(5), as far as a run has
/// them.
struct ServiceUnit {
    var unit: UnitFile
    var owner: LocalUser
    var isUser: Bool
    /// Reads a file of variables.
    var readFile: (String) throws(Failure) -> [UInt8] = { path throws(Failure) in
        try InputFile.bytes(of: path)
    }
    var notes: [String] = []

    typealias Mistake = UnitCommand.Mistake

    init(_ unit: UnitFile, owner: LocalUser, isUser: Bool) {
        self.unit = unit
        self.owner = owner
        self.isUser = isUser
    }

    /// The settings that are read here, or do not concern the run itself.
    static let known: Set = [
        "Type", "ExecStart", "ExecStartPre", "ExecStartPost", "User", "Group", "WorkingDirectory",
        "Environment", "EnvironmentFile", "Nice", "TimeoutStartSec", "TimeoutStopSec", "TimeoutSec",
        "RuntimeMaxSec", "UMask", "LimitAS", "LimitCPU", "MemoryMax", "MemoryHigh", "CPUWeight",
        "CPUQuota", "TasksMax", "IOWeight", "SuccessExitStatus", "Restart",
        "RestartSec", "DynamicUser", "LoadCredential",
    ]

    private func value(_ name: String) -> String? { unit.value(name, in: "Service") }

    var specifiers: UnitSpecifiers {
        UnitSpecifiers(unit: unit, owner: owner, isUser: isUser)
    }

    /// Sets the command and its settings in `definition`.
    mutating func apply(to definition: inout JobDefinition) throws(Mistake) {
        try checkType()
        let variables = try variables()
        definition.env = variables.isEmpty ? nil : variables
        definition.envFile = try environmentFiles()
        try readCredentials(&definition)
        // What systemd tells each service of its user.
        let user = ["HOME": owner.home, "USER": owner.name, "LOGNAME": owner.name]
        definition.command = try command(
            user.merging(variables) { $1 }.merging(variablesOfFiles()) { $1 }
        )
        definition.cwd = try folder()
        definition.umask = value("UMask")
        if let nice = value("Nice") {
            definition.nice = Int(nice)
            if definition.nice == nil { notes.append("Nice=\(nice) is no number, and left out") }
        }
        definition.memoryMax = limit("LimitAS")
        definition.cpuTime = limit("LimitCPU")
        readGroupLimits(&definition)
        definition.timeout = span(
            value("Type") == "oneshot" ? ["TimeoutStartSec", "TimeoutSec"] : ["RuntimeMaxSec"]
        )
        definition.killAfter = span(["TimeoutStopSec", "TimeoutSec"])
        readSuccess(&definition)
        readRestart(&definition)
        if let group = value("Group"), group != owner.name {
            notes.append("Group=\(group): a run has its user's own groups")
        }
    }

    private func checkType() throws(Mistake) {
        if let type = value("Type"), ["forking", "dbus"].contains(type) {
            throw Mistake(
                reason: "Type=\(type): a run ends with its first process; give --start-unit"
            )
        }
        if unit.isOn("DynamicUser", in: "Service") {
            throw Mistake(reason: "DynamicUser: only systemd makes users; give --start-unit")
        }
    }

    // MARK: - The command

    static let commandNames = ["ExecStartPre", "ExecStart", "ExecStartPost"]

    private mutating func command(_ variables: [String: String]) throws(Mistake) -> [String] {
        var commands: [UnitCommand] = []
        for name in Self.commandNames {
            for text in unit.values(name, in: "Service") {
                let command = try UnitCommand(
                    parsing: text,
                    specifiers: specifiers,
                    variables: variables
                )
                if command.hasMoreRights, owner.uid != 0 {
                    throw Mistake(reason: "'\(text)' asks for root's rights; give --start-unit")
                }
                guard !command.unset.contains("CREDENTIALS_DIRECTORY") else {
                    throw Mistake(
                        reason:
                            "'\(text)' takes $CREDENTIALS_DIRECTORY, which is known in a run alone: have a "
                            + "script take it, or give --start-unit"
                    )
                }
                if !command.unset.isEmpty {
                    let names = command.unset.sorted().map { "$\($0)" }.joined(separator: ", ")
                    notes.append(
                        "\(name)=\(text): neither Environment= nor a file that is there now sets \(names), so it "
                            + "is empty in the job"
                    )
                }
                commands.append(command)
            }
        }
        guard let first = commands.first else {
            throw Mistake(reason: "'\(unit.name)' has no ExecStart; give --start-unit")
        }
        if commands.count == 1, !first.mayFail { return first.words }
        let lines = commands.map { command in
            let line = Self.line(command.words)
            return command.mayFail ? "{ \(line) || :; }" : line
        }
        return ["/bin/sh", "-c", lines.joined(separator: " && ")]
    }

    /// The words as a line for any POSIX shell, which may not know the "$'…'" of bash.
    private static func line(_ words: [String]) -> String {
        guard words.contains(where: { $0.unicodeScalars.contains(where: HiddenCharacters.contain) })
        else { return ShellWords.joined(words) }
        return words.map { word in
            let parts = word.split(separator: "'", omittingEmptySubsequences: false)
            return "'" + parts.joined(separator: #"'\''"#) + "'"
        }.joined(separator: " ")
    }

    // MARK: - Its surroundings

    /// The working directory.
    ///
    /// systemd starts a system service in "/" and a user's service in the home folder, which is timerd's
    /// default.
    private func folder() throws(Mistake) -> String? {
        guard let text = value("WorkingDirectory") else { return isUser ? nil : "/" }
        let path = text.hasPrefix("-") ? String(text.dropFirst()) : text
        return path == "~" ? nil : try specifiers.expanded(path)
    }

    /// The soft limit of "soft:hard".
    private func limit(_ name: String) -> String? {
        guard let soft = value(name)?.split(separator: ":").first, soft != "infinity" else {
            return nil
        }
        return String(soft)
    }

    /// Takes the limits that systemd's control groups and a run's have in common.
    private mutating func readGroupLimits(_ definition: inout JobDefinition) {
        let settings: [(String, JobOption)] = [
            ("MemoryMax", .memoryMax), ("MemoryHigh", .memoryHigh), ("CPUWeight", .cpuWeight),
            ("CPUQuota", .cpuQuota), ("TasksMax", .tasksMax), ("IOWeight", .ioWeight),
        ]
        for (name, option) in settings {
            guard let text = value(name), !text.isEmpty, text != "infinity" else { continue }
            do throws(OptionRefusal) {
                let stated: OptionValue =
                    option.form.shape == .integer
                    ? Int(text).map(OptionValue.integer) ?? .text(text) : .text(text)
                var limits = ProcessLimits()
                try limits.set(option, stated)
                try definition.set(option, stated)
            } catch {
                notes.append("left out, for a run has nothing like it: \(name)=\(text)")
            }
        }
    }

    /// The first of the settings that is given, as a length of time; nil for none.
    private mutating func span(_ names: [String]) -> String? {
        for name in names {
            guard let text = value(name) else { continue }
            // A run without the setting has no limit either.
            if text == "infinity" { return nil }
            // try?: the note says what was read.
            guard let span = try? TimeSpan(parsing: text) else {
                notes.append("\(name)=\(text) is no length of time, and left out")
                return nil
            }
            return span > .zero ? span.description : nil
        }
        return nil
    }

    private mutating func readSuccess(_ definition: inout JobDefinition) {
        let words = unit.values("SuccessExitStatus", in: "Service").flatMap {
            $0.split(separator: " ")
        }
        let codes = words.compactMap { Int32($0) }
        if !codes.isEmpty { definition.successCodes = Set([0] + codes).sorted() }
        let others = words.filter { Int32($0) == nil }
        if !others.isEmpty {
            notes.append(
                "SuccessExitStatus: only numbers count here, not \(others.joined(separator: ", "))"
            )
        }
    }

    private mutating func readRestart(_ definition: inout JobDefinition) {
        guard let restart = value("Restart"), restart != "no" else { return }
        // The default of StartLimitBurst, at which systemd gives up if its attempts follow fast.
        definition.retries = 5
        let pause = span(["RestartSec"]) ?? "100ms"
        definition.backoff = "\(pause)..\(pause)"
        notes.append(
            "Restart=\(restart): here a run that failed is tried 5 times more, up to \(pause) apart"
        )
    }
}

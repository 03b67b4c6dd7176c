// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// A job as a line of a crontab: when, and what; pure.
///
/// It says nothing of the job's other options, its variables and its zone: a change of the line leaves them as they are.
struct CrontabLine: Hashable {
    /// "30 2 * * *", or "@daily".
    var schedule: String
    /// As `Crontab.Entry` has them: `%` and `\%` have been replaced.
    var command: String
    var input: String?

    /// Nil for a job that no line can say: another schedule, a sixth field, no command, or one of several lines.
    init?(_ definition: JobDefinition) {
        guard let cron = definition.schedule.cron, let argv = definition.command else { return nil }
        let fields = cron.split { $0 == " " || $0 == "\t" }
        guard fields.count == 5 || cron.hasPrefix("@") else { return nil }
        schedule = fields.joined(separator: " ")
        switch argv.count {
        case 6 where argv[0] == "/bin/sh" && argv[2] == Self.inputScript:
            (command, input) = (argv[4], argv[5])
        case 3 where Self.isShell(argv, of: definition): command = argv[2]
        default:
            // They are written as "$'…'", which the shell that cron runs does not read.
            let hasHidden = argv.contains {
                $0.unicodeScalars.contains(where: HiddenCharacters.contain)
            }
            if hasHidden { return nil }
            command = ShellWords.joined(argv)
        }
        guard !command.isEmpty, Self(parsing: text) == self else { return nil }
    }

    /// By their bytes: texts of one meaning in Unicode, which are one to Swift, name two files.
    static func == (left: Self, right: Self) -> Bool {
        left.schedule.utf8.elementsEqual(right.schedule.utf8) && left.hasCommand(of: right)
    }

    private func hasCommand(of other: Self) -> Bool {
        command.utf8.elementsEqual(other.command.utf8) && (input == nil) == (other.input == nil)
            && (input ?? "").utf8.elementsEqual((other.input ?? "").utf8)
    }

    /// Whether a page shows it as it is: a page escapes what a terminal would not show, but for tabs.
    var isShowable: Bool { CrontabText.shown(text) == text }

    /// Whether it is a shell with a command, not another program that has a `-c`: one of that name, or the one that the
    /// crontab's `SHELL` said.
    private static func isShell(_ argv: [String], of definition: JobDefinition) -> Bool {
        let name = argv[0].split(separator: "/").last.map(String.init) ?? ""
        return argv[1] == "-c"
            && (["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash"].contains(name)
                || argv[0] == definition.env?["SHELL"])
    }

    init(_ entry: Crontab.Entry) {
        (schedule, command, input) = (entry.schedule, entry.command, entry.input)
    }

    private init?(parsing text: String) {
        guard let entry = Crontab(parsing: text, hasUsers: false).entries.first else { return nil }
        self.init(entry)
    }

    /// The line.
    var text: String {
        let input = input.map { "%" + Self.escaped(input: $0) } ?? ""
        return "\(schedule) \(Self.escaped(command, isFollowed: !input.isEmpty))\(input)"
    }

    /// Writes the input as cron reads it, without the last newline where cron adds one.
    private static func escaped(input: String) -> String {
        let scalars = input.unicodeScalars
        let isAdded = scalars.last == "\n" && ![nil, "\n"].contains(scalars.dropLast().last)
        let text = isAdded ? scalars.dropLast() : scalars[...]
        return text.reduce(into: "") { line, scalar in
            switch scalar {
            case "%": line += #"\%"#
            case "\n": line += "%"
            default: line.unicodeScalars.append(scalar)
            }
        }
    }

    /// Writes `%` as cron reads it, and a backslash twice where it would be read with what follows it.
    private static func escaped(_ command: String, isFollowed: Bool) -> String {
        var text = ""
        var rest = command.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "%": text += #"\%"#
            case "\\":
                let isRead = rest.first.map { $0 == "\\" || $0 == "%" } ?? isFollowed
                text += isRead ? #"\\"# : #"\"#
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    /// Writes the input, for any shell that runs the command.
    static let inputScript = #"printf %s "$2" | "$0" -c "$1""#

    /// What runs a crontab's command; `shell` is what `SHELL` says.
    static func argv(_ command: String, input: String?, shell: String) -> [String] {
        guard let input else { return [shell, "-c", command] }
        return ["/bin/sh", "-c", inputScript, shell, command, input]
    }

    /// The definition with this line in place of its own; `old` is its own.
    func changed(_ definition: JobDefinition, from old: Self) -> JobDefinition {
        var definition = definition
        if schedule != old.schedule { definition.schedule.cron = schedule }
        if !hasCommand(of: old) {
            let argv = definition.command ?? []
            let shell =
                switch argv.count {
                case 6 where argv[2] == Self.inputScript: argv[3]
                case 3 where Self.isShell(argv, of: definition): argv[0]
                default: "/bin/sh"
                }
            definition.command = Self.argv(command, input: input, shell: shell)
        }
        return definition
    }
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Platform
import Schedules
import TimerControl

/// The command line of timerd: parses, runs one command, and ends with its status.
struct Timerctl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timerctl",
        abstract: "Add, watch, move and end the jobs of timerd.",
        discussion: """
            A job fires at its dates: it runs a command, or is an event for whoever watches. It \
            survives crashes and reboots. Answers go to standard output, all else to standard error. \
            --socket PATH and --json may stand before the command as well.

            Examples:
              timerctl add --every 5s --name heartbeat -- curl -fsS http://localhost/
              timerctl list
              timerctl runs heartbeat   # why did it not run?
              timerctl watch

            Exit status: 0 done, 1 refused, 2 changes found by a trial, 64 wrong usage, 65 bad data, \
            69 no daemon, 74 input or output failed, 75 end of a run not known, 76 protocol broken, \
            77 not permitted.
            """,
        version: "timerctl \(timerdVersion)",
        subcommands: [
            Add.self, List.self, Show.self, SetFireDate.self, Fire.self, Pause.self, Resume.self,
            Maintenance.self,
            Change.self, Edit.self, Rename.self, Copy.self,
            Skip.self, Invalidate.self, Undo.self, Kill.self, Runs.self, Logs.self, Notices.self,
            Watch.self,
            Status.self,
            Metrics.self,
            Nodes.self, Drain.self,
            Agenda.self, TimelineCommand.self, Top.self,
            Next.self, Apply.self, Export.self, Backup.self, Doctor.self,
            Explain.self,
            At.self, Batch.self, Atq.self, Atrm.self, Atc.self,
            QueueCommand.self,
            Every.self, CrontabCommand.self, Import.self, Complete.self, Web.self,
        ]
    )

    /// The command that the arguments ask for; ends the process after one that waits for nothing, and for
    /// arguments that cannot be read.
    static func parsed() -> any AsyncParsableCommand {
        let arguments = arguments(CommandLine.arguments)
        do {
            if let lack = UnreadableArgument.lack { throw Failure(.inputOutput, lack) }
            if let argument = UnreadableArgument.first {
                throw Failure(
                    .usage,
                    "\(argument); use a link to it, or a script, whose own name is text"
                )
            }
            try checkVerb(of: arguments)
            if let empty = OptionMistake.empty(in: arguments) {
                end(with: ValidationError(empty.sentence), as: empty.command)
            }
            var command = try parseAsRoot(arguments)
            do {
                try RepeatedOption.check(arguments, of: command)
            } catch {
                end(with: error, of: command)
            }
            if let command = command as? any AsyncParsableCommand { return command }
            do {
                try LocalZone.check(for: command)
                try command.run()
                Glibc.exit(EXIT_SUCCESS)
            } catch {
                end(with: error, of: command)
            }
        } catch {
            // Ahead of all that looks at the error: the parser lays the help out for that.
            Terminal.widenForHelp()
            guard let unknown = OptionMistake.unknown(in: arguments, refusedFor: error) else {
                end(with: error)
            }
            end(with: ValidationError(unknown.sentence), as: unknown.command)
        }
    }

    /// What follows the program's name; a link by the name of a command is that command.
    ///
    /// `--socket` and `--json` before the command are moved behind it, where they belong.
    static func arguments(_ words: [String]) -> [String] {
        let name = words.first?.split(separator: "/").last.map(String.init) ?? ""
        if let arguments = AtLink.arguments(name, words.dropFirst()) { return arguments }
        var (common, rest) = ([] as [String], words.dropFirst())
        while let word = rest.first {
            let count =
                switch word {
                case "--socket" where rest.count > 1: 2
                case "--json": 1
                case _ where word.hasPrefix("--socket="): 1
                default: 0
                }
            if count == 0 { break }
            common += rest.prefix(count)
            rest = rest.dropFirst(count)
        }
        let verbs = ["import", "queue"].contains(rest.first) ? 2 : 1
        return QueueWork.words(
            atArguments(rest.prefix(verbs) + common + rest.dropFirst(verbs))
        )
    }

    /// `at -l`, `at -d` and `at -c` are commands of their own, as at(1) has them.
    static func atArguments(_ words: [String]) -> [String] {
        guard words.first == "at", words.count > 1 else { return words }
        let verb: String? =
            switch words[1] {
            case "-l": "atq"
            case "-d", "-r": "atrm"
            case "-c": "atc"
            default: nil
            }
        return verb.map { [$0] + words.dropFirst(2) } ?? words
    }

    /// Answers a misspelt command with the near one, and one that was left out with what needs one.
    static func checkVerb(of arguments: [String]) throws {
        guard let verb = arguments.first else { return }
        if ["--json", "--socket"].contains(verb.prefix { $0 != "=" }) {
            let value = verb == "--socket" ? " PATH" : ""
            throw ValidationError(
                "\(verb) belongs to a command, as in 'timerctl list \(verb)\(value)'"
            )
        }
        guard !verb.hasPrefix("-") else { return }
        if verb == "help" { return try checkVerb(of: Array(arguments.dropFirst())) }
        try check(verb, amongThoseOf: configuration)
        guard arguments.count > 1, !arguments[1].hasPrefix("-") else { return }
        switch verb {
        case "import": try check(arguments[1], amongThoseOf: Import.configuration, behind: verb)
        case "queue":
            try check(arguments[1], amongThoseOf: QueueCommand.configuration, behind: verb)
        default: break
        }
    }

    /// `parent`: the command that it is one of; nil of the program's own.
    private static func check(
        _ verb: String,
        amongThoseOf configuration: CommandConfiguration,
        behind parent: String? = nil
    ) throws {
        var known: [String] = []
        for command in configuration.subcommands {
            known += [command.configuration.commandName].compactMap(\.self)
            known += command.configuration.aliases
        }
        if known.contains(verb) { return }
        let first = parent.map { "\($0) " } ?? ""
        let guesses = Spelling.guesses(for: verb, among: known)
        // The program's help does not list them.
        let others = parent.map { "; of '\($0)' there are \(known.joined(separator: ", "))" }
        let hint =
            guesses.isEmpty
            ? others ?? ""
            : ", perhaps \(guesses.map { "'\(first)\($0)'" }.joined(separator: " or "))"
        throw ValidationError("there is no command '\(first)\(verb)'\(hint)")
    }

    /// Carries out a command and ends the process with its status.
    static func carryOut(_ command: any AsyncParsableCommand) async -> Never {
        var command = command
        do {
            try LocalZone.check(for: command)
            try await command.run()
            Glibc.exit(EXIT_SUCCESS)
        } catch {
            end(with: error, of: command)
        }
    }

    /// "timerctl queue work": the words that ask for a command.
    static func words(
        for command: any ParsableCommand.Type,
        in parent: any ParsableCommand.Type = Timerctl.self
    ) -> String? {
        let name = parent.configuration.commandName ?? ""
        if parent == command { return name }
        return parent.configuration.subcommands.lazy.compactMap { words(for: command, in: $0) }
            .first.map { "\(name) \($0)" }
    }

    /// Prints the error in one line and ends with its status; prints help if that was asked for.
    ///
    /// `command`: whose `run` has thrown it, and `type` whose words were refused; without either the error itself says which.
    private static func end(
        with error: any Error,
        of command: (any ParsableCommand)? = nil,
        as type: (any ParsableCommand.Type)? = nil
    ) -> Never {
        switch error {
        case let error as Failure:
            let error = StatedRefusal.named(
                error,
                arguments: CommandLine.arguments,
                of: command
            )
            if !error.message.isEmpty { Output.complain(error.message) }
            Glibc.exit(error.status.rawValue)
        case let error as ScheduleError:
            end(with: Failure(error))
        default:
            Terminal.widenForHelp()
            if let status = error as? ExitCode { Glibc.exit(status.rawValue) }
            guard exitCode(for: error).isSuccess else {
                let type = type ?? command.map { Swift.type(of: $0) }
                let help = type.flatMap { words(for: $0) }.map { "See '\($0) --help'" }
                Output.complain(
                    UsageSentence.text(
                        message(for: error),
                        fullMessage: help ?? fullMessage(for: error)
                    )
                )
                Glibc.exit(ExitStatus.usage.rawValue)
            }
            do {
                try Output.write(CompletionScript.completed(fullMessage(for: error)) + "\n")
            } catch {
                end(with: error)
            }
            Glibc.exit(0)
        }
    }
}

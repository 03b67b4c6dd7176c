// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// Options that take one value and are said twice: the parser goes by the last, and drops the others without a word.
enum RepeatedOption {
    /// Refuses them in the words of a command line that is one of `command`'s.
    ///
    /// - Throws: `ValidationError`, for the first that is said again.
    static func check(_ words: [String], of command: any ParsableCommand) throws {
        // Behind these words stands a command of the job's, with options of its own.
        let own = words.dropLast((command as? Add)?.words.count ?? 0).prefix { $0 != "--" }
        let again = again(in: own)
        // What it takes to know the options is a millisecond of every call's three.
        guard !again.isEmpty else { return }
        let single = try single(of: type(of: command))
        guard let name = again.first(where: single.contains) else { return }
        throw ValidationError("\(name) is said twice; it takes one value")
    }

    /// The options that stand there more than once under one name: "--cron" for "--cron=…", "-n" for "-n5" too.
    static func again(in words: some Sequence<String>) -> [String] {
        var seen: Set<String> = []
        return words.compactMap { word in
            guard word.hasPrefix("-"), word.utf8.count > 1 else { return nil }
            let name = String(word.hasPrefix("--") ? word.prefix { $0 != "=" } : word.prefix(2))
            return seen.insert(name).inserted ? nil : name
        }
    }

    /// The options of a command that take one value, by all their names.
    private static func single(of command: any ParsableCommand.Type) throws -> Set<String> {
        let help: Help = try JSONValue(parsing: command._dumpHelp()).decoded()
        let options = (help.command.arguments ?? [])
            .filter { $0.kind == "option" && !$0.isRepeating }
        let names = options.flatMap { $0.names ?? [] }
        return Set(names.map { ($0.kind == "long" ? "--" : "-") + $0.name })
    }

    /// What of a command's help says which options it has.
    private struct Help: Decodable {
        var command: Command

        struct Command: Decodable { var arguments: [Argument]? }

        struct Argument: Decodable {
            var kind: String
            var isRepeating: Bool
            var names: [Name]?
        }

        struct Name: Decodable {
            var kind: String
            var name: String
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// The options of a command, as its help knows them: that takes a millisecond.
enum KnownOptions {
    struct Option {
        /// "--count", "-n".
        var names: [String]
        var takesValue: Bool
        var isRepeating: Bool
        /// Whether help tells of it.
        var isShown: Bool
    }

    static func of(_ command: any ParsableCommand.Type) throws -> [Option] {
        let help: Help = try JSONValue(parsing: command._dumpHelp()).decoded()
        return (help.command.arguments ?? []).filter { $0.kind != "positional" }.map { option in
            Option(
                names: (option.names ?? []).map { ($0.kind == "long" ? "--" : "-") + $0.name },
                takesValue: option.kind == "option",
                isRepeating: option.isRepeating,
                isShown: option.shouldDisplay
            )
        }
    }

    /// What of a command's help says which options it has.
    private struct Help: Decodable {
        var command: Command

        struct Command: Decodable { var arguments: [Argument]? }

        struct Argument: Decodable {
            var kind: String
            var isRepeating: Bool
            var shouldDisplay: Bool
            var names: [Name]?
        }

        struct Name: Decodable {
            var kind: String
            var name: String
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// A long option that a command does not have, among words that were refused.
///
/// The parser looks for what is missing first: a misspelt option, which is why it is missing, would not be told.
struct UnknownOption {
    let command: any ParsableCommand.Type
    let sentence: String

    /// `error`: why `words` were refused; nil where they have no such option, or it says more of it.
    init?(in words: [String], refusedFor error: any Error) {
        guard Timerctl.exitCode(for: error) == .validationFailure,
            !Timerctl.message(for: error).hasPrefix("Missing value for "),
            let command = Self.command(of: words),
            // Behind its own come those of another program, and it has a sentence for that.
            command != Add.self,
            // try?: of options that nobody knows none is misspelt.
            let options = try? KnownOptions.of(command)
        else { return nil }
        let names = options.flatMap(\.names) + Self.everyCommands
        let takers = options.filter(\.takesValue).flatMap(\.names)
        var isValue = false
        for word in words.prefix(while: { $0 != "--" }) {
            let name = String(word.prefix { $0 != "=" })
            guard isValue || !word.hasPrefix("--") || names.contains(name) else {
                self.command = command
                let near = Spelling.nearest(
                    to: String(name.dropFirst(2)),
                    among: names.filter { $0.hasPrefix("--") }.map { String($0.dropFirst(2)) }
                )
                sentence = "unknown option '\(name)'" + (near.map { ", perhaps '--\($0)'" } ?? "")
                return
            }
            isValue = takers.contains(word)
        }
        return nil
    }

    /// What the parser itself understands.
    private static let everyCommands = [
        "--help", "--help-hidden", "--version", "--generate-completion-script",
        "--experimental-dump-help",
    ]

    /// The command that the first words ask for; nil where they ask for none.
    private static func command(of words: [String]) -> (any ParsableCommand.Type)? {
        var command: (any ParsableCommand.Type)?
        for word in words.prefix(2) {
            let known = (command ?? Timerctl.self).configuration.subcommands
            guard let next = known.first(where: { $0.hasName(word) }) else { break }
            command = next
        }
        return command
    }
}

extension ParsableCommand {
    static func hasName(_ word: String) -> Bool {
        configuration.commandName == word || configuration.aliases.contains(word)
    }
}

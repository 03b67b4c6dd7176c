// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Platform

/// A slip in a long option that the parser does not tell, or tells as another one.
struct OptionMistake {
    let command: any ParsableCommand.Type
    let sentence: String

    /// An option that the command does not have, among words that were refused for `error`; nil where they have none, or the
    /// error says more of it.
    ///
    /// The parser looks for what is missing first: a misspelt option, which is why it is missing, would not be told.
    static func unknown(in words: [String], refusedFor error: any Error) -> Self? {
        guard Timerctl.exitCode(for: error) == .validationFailure,
            !Timerctl.message(for: error).hasPrefix("Missing value for "),
            let line = CommandWords(words),
            // Behind its own come those of another program, and it has a sentence for that.
            line.command != Add.self
        else { return nil }
        let known = Set(line.options.flatMap(\.names) + everyCommands)
        guard
            let name = line.stated.map({ String($0.prefix { $0 != "=" }) }).first(where: {
                !known.contains($0)
            })
        else { return nil }
        // A hidden one is refused, or means something else than one would think.
        let shown = Set(line.options.filter(\.isShown).flatMap(\.names) + everyCommands)
        let near = Spelling.nearest(
            to: String(name.dropFirst(2)),
            among: shown.filter { $0.hasPrefix("--") }.map { String($0.dropFirst(2)) }.sorted()
        )
        let hint = near.map { ", perhaps '--\($0)'" } ?? ""
        return Self(command: line.command, sentence: "unknown option '\(name)'\(hint)")
    }

    /// An option with nothing behind its "=", as a script has where a variable is empty; nil for none.
    ///
    /// Of some options the parser takes the next word as the value, "--" as well.
    static func empty(in words: [String]) -> Self? {
        guard words.contains(where: { $0.hasPrefix("--") && $0.hasSuffix("=") }),
            let line = CommandWords(words),
            let word = line.stated.first(where: { line.takers.contains($0.dropLast()) })
        else { return nil }
        return Self(
            command: line.command,
            sentence: "\(word.dropLast()) is empty; expected a value behind '\(word)'"
        )
    }

    /// What the parser itself understands.
    private static let everyCommands = [
        "--help", "--help-hidden", "--version", "--generate-completion-script",
        "--experimental-dump-help",
    ]
}

/// The words of a command line, as far as its options go.
private struct CommandWords {
    let command: any ParsableCommand.Type
    let options: [KnownOptions.Option]
    /// The names of the options that take a value.
    let takers: Set<Substring>
    /// The long options, as they stand there.
    private(set) var stated: [String] = []

    /// Nil where they ask for no command.
    init?(_ words: [String]) {
        var (command, count): ((any ParsableCommand.Type)?, Int) = (nil, 0)
        for word in words.prefix(2) {
            let known = (command ?? Timerctl.self).configuration.subcommands
            guard let next = known.first(where: { $0.hasName(word) }) else { break }
            (command, count) = (next, count + 1)
        }
        // One that only has others is not asked for: its options are theirs. try?: of a command whose options nobody knows nothing
        // is told.
        guard let command, command.configuration.subcommands.isEmpty,
            let options = try? KnownOptions.of(command)
        else { return nil }
        (self.command, self.options) = (command, options)
        takers = Set(options.filter(\.takesValue).flatMap(\.names).map { $0[...] })
        // Behind so many words its command begins, whose options are its own.
        var own = Int.max
        if command == Add.self { own = 0 }
        if command == QueueWork.self, !QueueWork.haveCommand(words) { own = 1 }
        var isValue = false
        for word in words.dropFirst(count).prefix(while: { $0 != "--" }) {
            if !isValue, !word.hasPrefix("-") {
                if own == 0 { break }
                own -= 1
            }
            if !isValue, word.hasPrefix("--") { stated.append(word) }
            isValue = !isValue && takers.contains(word[...])
        }
    }
}

extension ParsableCommand {
    fileprivate static func hasName(_ word: String) -> Bool {
        configuration.commandName == word || configuration.aliases.contains(word)
    }
}

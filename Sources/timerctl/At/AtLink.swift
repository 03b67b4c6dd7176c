// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// A call by a link named as one of at(1)'s programs, whose options of one letter are read as getopt(3) reads them there.
enum AtLink {
    /// The letters that a program takes.
    private struct Letters {
        /// Each with a value: the rest of its word, else the word behind it.
        var valued: Set<Character> = []
        var alone: Set<Character> = []
        /// Each asks for another command.
        var commands: [Character: String] = [:]
    }

    private static let programs: [String: Letters] = [
        "at": Letters(
            valued: ["f", "q", "t"],
            alone: ["m", "M", "v"],
            commands: ["l": "atq", "d": "atrm", "r": "atrm", "c": "atc", "b": "batch"]
        ),
        "atq": Letters(valued: ["q"]),
        "atrm": Letters(),
        "batch": Letters(valued: ["f", "q"], alone: ["m", "M", "v"]),
    ]

    /// The options whose value may look like one.
    private static let dashed = Set(
        JobOption.allCases.filter(\.mayBeginWithDash).compactMap(\.flag).map { "--\($0)" }
    )

    /// The words of `timerctl` for a call by `program`, each option and each value as a word of its own; nil for other
    /// programs.
    static func arguments(_ program: String, _ words: ArraySlice<String>) -> [String]? {
        guard let letters = programs[program] else { return nil }
        var (command, arguments, rest) = (program, [] as [String], words)
        while let word = rest.popFirst() {
            if word == "--" { return [command] + arguments + [word] + rest }
            guard let options = options(in: word, letters) else {
                arguments.append(word)
                if dashed.contains(word), let value = rest.popFirst() { arguments.append(value) }
                continue
            }
            for (letter, value) in options {
                if letter == "V" { return ["--version"] }
                if let other = letters.commands[letter] {
                    command = other
                    continue
                }
                arguments.append("-\(letter)")
                guard letters.valued.contains(letter), let value = value ?? rest.popFirst() else {
                    continue
                }
                arguments.append(value)
            }
        }
        return [command] + arguments
    }

    /// The options in a word, the last with what of the word is its value; nil where a letter is none of them.
    private static func options(
        in word: String,
        _ letters: Letters
    ) -> [(letter: Character, value: String?)]? {
        guard word.hasPrefix("-"), word.count > 1 else { return nil }
        var options: [(letter: Character, value: String?)] = []
        var rest = word.dropFirst()
        while let letter = rest.popFirst() {
            if letters.valued.contains(letter) {
                options.append((letter, rest.isEmpty ? nil : String(rest)))
                return options
            }
            guard letters.alone.contains(letter) || letters.commands[letter] != nil || letter == "V"
            else { return nil }
            options.append((letter, nil))
        }
        return options
    }
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options that take one value and are said twice: the parser goes by the last, and drops the others without a word.
enum RepeatedOption {
    /// Refuses them in the words of a command line that is one of `command`'s.
    ///
    /// - Throws: `ValidationError`, for the first that is said again.
    static func check(_ words: [String], of command: any ParsableCommand) throws {
        let said = names(in: own(words, of: command))
        // What it takes to know the options is a millisecond of every call's three.
        guard mayRepeat(said) else { return }
        let options = try single(of: type(of: command))
        var seen: [Int: String] = [:]
        for name in said {
            guard let option = options.firstIndex(where: { $0.contains(name) }) else { continue }
            guard let first = seen.updateValue(name, forKey: option) else { continue }
            throw ValidationError(
                first == name
                    ? "\(name) is said twice; it takes one value"
                    : "\(first) and \(name) are one option, which takes one value"
            )
        }
    }

    /// Those ahead of a command of the job's, which has options of its own.
    static func own(_ words: [String], of command: (any ParsableCommand)?) -> ArraySlice<String> {
        words.dropLast((command as? Add)?.words.count ?? 0).prefix { $0 != "--" }
    }

    /// The names of what may be options, as they stand there: "--cron" for "--cron=…", "-n" for "-n5" too.
    static func names(in words: some Sequence<String>) -> [String] {
        words.compactMap { word in
            guard word.hasPrefix("-"), word.utf8.count > 1 else { return nil }
            return String(word.hasPrefix("--") ? word.prefix { $0 != "=" } : word.prefix(2))
        }
    }

    /// Whether an option may be among them twice: under one name, or under its short one and a long one.
    private static func mayRepeat(_ names: [String]) -> Bool {
        let said = Set(names)
        return said.count < names.count
            || said.contains { name in longNames[name].map { !said.isDisjoint(with: $0) } ?? false }
    }

    /// The long names of options with one value that have a short one, of all commands; a test holds it.
    static let longNames = ["-n": ["--count"]]

    /// The options of a command that take one value, each by all its names.
    static func single(of command: any ParsableCommand.Type) throws -> [[String]] {
        try KnownOptions.of(command).filter { $0.takesValue && !$0.isRepeating }.map(\.names)
    }
}

// SPDX-License-Identifier: Apache-2.0

import TimerWords

/// The errors of argument-parser, as one line in our style.
enum UsageSentence {
    /// The message, and the command that prints help.
    ///
    /// `fullMessage` ends in "See 'timerctl add --help' for more information.": only that names the command.
    /// `arguments` are those that were refused.
    static func text(
        _ message: String,
        fullMessage: String,
        arguments: [String] = CommandLine.arguments
    ) -> String {
        let words = ownWords(of: message)
        let sentence = Printable.escaped(
            withList(words) ?? (firstSentence(of: words) + dashed(words, arguments))
        )
        let help =
            fullMessage.ranges(of: "See '").last
            .map { fullMessage[$0.upperBound...].prefix { $0 != "'" } } ?? "timerctl --help"
        let hint = sentence.hasSuffix("?") ? " See '\(help)'" : "; see '\(help)'"
        return sentence.prefix(1).lowercased() + sentence.dropFirst() + hint
    }

    /// The message on one line, where what is accepted stands in the lines after its first.
    private static func withList(_ message: String) -> String? {
        let beginnings = [
            ". Please provide one of the following:\n",
            ".\nPlease use --generate-completion-script=<shell> with one of:\n",
        ]
        for beginning in beginnings {
            guard let range = message.firstRange(of: beginning) else { continue }
            let list = message[range.upperBound...].split(whereSeparator: \.isWhitespace)
                .filter { $0 != "-" }
            return "\(message[..<range.lowerBound]), accepted are \(list.joined(separator: ", "))"
        }
        // Of few of them in the same line.
        if let few = message.firstMatch(of: /^(.+)\. Please provide one of ('.+')\.$/)?.output {
            return "\(few.1), accepted are \(few.2)"
        }
        return nil
    }

    /// What to write where a word that begins with a dash was taken for an option.
    private static func dashed(_ message: String, _ arguments: [String]) -> String {
        if let name = message.firstMatch(of: /^Missing value for '(-[^ ']+)/)?.output.1 {
            guard let index = arguments.firstIndex(of: String(name)), index + 1 < arguments.count,
                arguments[index + 1].hasPrefix("-"), name.hasPrefix("--")
            else { return "" }
            return asValue(arguments[index + 1], of: String(name))
        }
        if let word = message.firstMatch(of: /^Invalid option: (.+)/)?.output.1 {
            guard let index = arguments.firstIndex(of: String(word)), index > 0,
                arguments[index - 1].firstMatch(of: /^--[a-z][^=]*$/) != nil
            else { return "" }
            return asValue(String(word), of: arguments[index - 1])
        }
        let number = arguments.prefix { $0 != "--" }
            .first { $0.firstMatch(of: /^-[0-9]+$/) != nil }
        guard let number else { return "" }
        let isMissed = ["Missing expected argument", "say which ", "Unknown option '\(number)'"]
            .contains { message.hasPrefix($0) }
        return isMissed ? ": '\(number)' is read as an option, unless it stands behind '--'" : ""
    }

    private static func asValue(_ word: String, of name: String) -> String {
        let value = "\(name)=\(ShellWords.quoted(word))"
        return word == "--" ? "" : ": '\(word)' is read as an option, unless it is \(value)"
    }

    /// The first line, and those after it that belong to a value with line ends between its quotes.
    private static func firstSentence(of message: String) -> String {
        var lines = message.split(separator: "\n", omittingEmptySubsequences: false)[...]
        var sentence = String(lines.popFirst() ?? "")
        while sentence.count(where: { $0 == "'" }) % 2 == 1, let next = lines.popFirst() {
            sentence += "\n" + next
        }
        return sentence
    }

    /// Without "The value 'x' is invalid for '<id>': ", if our own sentence follows it.
    private static func ownWords(of message: String) -> String {
        guard let start = message.firstRange(of: "' is invalid for '"),
            let end = message[start.upperBound...].firstRange(of: "': ")
        else { return message }
        return String(message[end.upperBound...])
    }
}

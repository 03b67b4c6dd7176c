// SPDX-License-Identifier: Apache-2.0

/// The errors of argument-parser, as one line in our style.
enum UsageSentence {
    /// The message, and the command that prints help.
    ///
    /// `fullMessage` ends in "See 'timerctl add --help' for more information.": only that names the command.
    static func text(_ message: String, fullMessage: String) -> String {
        let sentence = Printable.escaped(firstSentence(of: ownWords(of: message)))
        let help =
            fullMessage.ranges(of: "See '").last
            .map { fullMessage[$0.upperBound...].prefix { $0 != "'" } } ?? "timerctl --help"
        let hint = sentence.hasSuffix("?") ? " See '\(help)'" : "; see '\(help)'"
        return sentence.prefix(1).lowercased() + sentence.dropFirst() + hint
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

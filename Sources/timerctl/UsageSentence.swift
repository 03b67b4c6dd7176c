// SPDX-License-Identifier: Apache-2.0

/// The errors of argument-parser, as one line in our style.
enum UsageSentence {
    /// The message, and the command that prints help.
    ///
    /// `fullMessage` ends in "See 'timerctl add --help' for more information.": only that names the command.
    static func text(_ message: String, fullMessage: String) -> String {
        let sentence = ownWords(of: message.split(separator: "\n").first.map(String.init) ?? "")
        let help =
            fullMessage.ranges(of: "See '").last
            .map { fullMessage[$0.upperBound...].prefix { $0 != "'" } } ?? "timerctl --help"
        let hint = sentence.hasSuffix("?") ? " See '\(help)'" : "; see '\(help)'"
        return sentence.prefix(1).lowercased() + sentence.dropFirst() + hint
    }

    /// Without "The value 'x' is invalid for '<id>': ", if our own sentence follows it.
    private static func ownWords(of message: String) -> String {
        guard let start = message.firstRange(of: "' is invalid for '"),
            let end = message[start.upperBound...].firstRange(of: "': ")
        else { return message }
        return String(message[end.upperBound...])
    }
}

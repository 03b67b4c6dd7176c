// SPDX-License-Identifier: Apache-2.0

/// A command as it would be typed into a shell.
///
/// All of it goes by Unicode's scalars: to Swift a quote and an accent behind it are one character, to a shell the quote
/// is one.
public enum ShellWords {
    /// The words, joined; quoted if a shell would take them for something else.
    public static func joined(_ words: [String]) -> String {
        words.enumerated().map { index, word in
            // A shell takes "A=b" as the first word for an assignment.
            quoted(word, isProgram: index == 0)
        }.joined(separator: " ")
    }

    /// A command within a sentence, which can be pasted without what stands around it: 'timerctl top', and in backquotes
    /// where it has such quotes of its own.
    public static func command(_ words: [String]) -> String {
        let line = joined(words)
        return line.unicodeScalars.contains("'") ? "`\(line)`" : "'\(line)'"
    }

    /// One word of them; `isProgram` for the first one.
    public static func quoted(_ word: String, isProgram: Bool = false) -> String {
        if word.unicodeScalars.contains(where: HiddenCharacters.contain) {
            return dollarQuoted(word)
        }
        let isPlain =
            word.unicodeScalars.allSatisfy(isPlain)
            // zsh takes "=ls" for the path of ls.
            && ![nil, "="].contains(word.unicodeScalars.first)
            && !(isProgram && word.unicodeScalars.contains("="))
        return isPlain ? word : singleQuoted(word)
    }

    /// A word in the quotes that every shell reads, which may not know the "$'…'" of bash.
    public static func singleQuoted(_ word: String) -> String {
        let parts = word.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false)
        return "'" + parts.map { String($0) }.joined(separator: #"'\''"#) + "'"
    }

    /// The words of a line as a shell would take them, without variables, pipes and the like; nil where a quote
    /// is open.
    public static func split(_ line: String) -> [String]? {
        var words: [String] = []
        var word: String?
        var quote: Unicode.Scalar?
        var rest = line.unicodeScalars.makeIterator()
        while let scalar = rest.next() {
            switch (quote, scalar) {
            case ("'", "'"), ("\"", "\""): quote = nil
            case (nil, "'"), (nil, "\""):
                quote = scalar
                word = word ?? ""
            case (nil, "\\"), ("\"", "\\"):
                guard let next = rest.next() else { return nil }
                // Within double quotes a backslash stands for itself, unless something needs it.
                let isKept = quote == "\"" && !"\"\\$`".unicodeScalars.contains(next)
                word = (word ?? "") + (isKept ? "\\\(next)" : "\(next)")
            // A form of a page ends its lines with both.
            case (nil, " "), (nil, "\t"), (nil, "\n"), (nil, "\r"):
                if let word { words.append(word) }
                word = nil
            default: word = (word ?? "") + String(scalar)
            }
        }
        guard quote == nil else { return nil }
        if let word { words.append(word) }
        return words
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.isASCII else { return scalar.properties.isAlphabetic }
        return scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
            || "_@%+=:,./-".unicodeScalars.contains(scalar)
    }

    /// "$'…'", which bash, zsh and ksh read: control characters are written as escapes.
    private static func dollarQuoted(_ word: String) -> String {
        var result = "$'"
        for scalar in word.unicodeScalars {
            switch scalar {
            case "\n": result += #"\n"#
            case "\t": result += #"\t"#
            case "\r": result += #"\r"#
            case "\\": result += #"\\"#
            // To a shell that does not know these quotes, such as dash, a quote behind a backslash would end them.
            case "'": result += #"\047"#
            case _ where !HiddenCharacters.contain(scalar): result.unicodeScalars.append(scalar)
            case _ where scalar.isASCII: result += #"\x"# + hex(scalar, digits: 2)
            case _ where scalar.value <= 0xffff: result += #"\u"# + hex(scalar, digits: 4)
            default: result += #"\U"# + hex(scalar, digits: 8)
            }
        }
        return result + "'"
    }

    private static func hex(_ scalar: Unicode.Scalar, digits: Int) -> String {
        let text = String(scalar.value, radix: 16)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }
}

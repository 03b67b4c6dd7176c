// SPDX-License-Identifier: Apache-2.0

import TimerWords

/// Text of others made harmless for a terminal, and its width there.
///
/// Names, commands and messages come from the user who added the job: an escape sequence in them must not
/// colour, hide or reorder what the reader sees.
enum Printable {
    /// Control characters in caret notation ("^[" for ESC); other invisible ones as "\u{202e}".
    static func escaped(_ text: String) -> String { HiddenCharacters.escaped(text) }

    /// How many columns of a terminal the text fills; it must be free of control characters.
    static func width(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + width($1) }
    }

    /// The text cut to `columns`, with a mark of one column at its end, if it is wider.
    ///
    /// A number goes as a whole, and with its unit: "in 40…" would be in 40 of something, and is in 400 days.
    static func cut(_ text: String, to columns: Int, mark: String = "…") -> String {
        if width(text) <= columns { return text }
        if columns < 1 { return "" }
        var room = columns - 1
        var result = ""
        for character in text {
            room -= width(character)
            if room < 0 { break }
            result.append(character)
        }
        return result.dropLast(cutNumber(in: result, of: text)) + mark
    }

    /// How many characters at the end of `kept`, the beginning of `text`, are a number that does not end there, or whose unit
    /// is missing.
    private static func cutNumber(in kept: String, of text: String) -> Int {
        func isDigit(_ character: Character) -> Bool { "0"..."9" ~= character }
        let blanks = kept.last == " " ? 1 : 0
        let number = kept.dropLast(blanks).reversed().prefix { isDigit($0) || ".,".contains($0) }
        let before = kept.dropLast(blanks + number.count).last ?? " "
        guard let first = number.last, isDigit(first), before == " " else { return 0 }
        let rest = text.dropFirst(kept.count)
        let goesOn = blanks == 0 && rest.first.map { isDigit($0) || ".,".contains($0) } == true
        return goesOn || hasUnit(rest, isApart: blanks == 1) ? number.count + blanks : 0
    }

    /// Whether what follows a number begins with its unit; `isApart`: a blank lies between.
    ///
    /// Behind a blank another word may follow: "exit 12 after 3 s", "12345 backup".
    private static func hasUnit(_ rest: Substring, isApart: Bool) -> Bool {
        if !isApart, rest.first.map({ $0.isLetter || $0 == "%" }) == true { return true }
        guard isApart || rest.first == " " else { return false }
        let word = rest.dropFirst(isApart ? 0 : 1).prefix { $0.isLetter || $0 == "%" }
        return units.contains(word)
    }

    /// Those that numbers are shown with, as words apart.
    private static let units: Set<Substring> = [
        "us", "ms", "s", "second", "seconds", "min", "minute", "minutes", "h", "hour", "hours",
        "d", "day", "days", "w", "week", "weeks", "month", "months", "y", "year", "years",
        "%", "B", "byte", "bytes", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB",
    ]

    /// The text in lines of at most `columns`, broken at blanks where there are some; those after the first
    /// begin with `indent` blanks.
    ///
    /// It must be free of control characters.
    static func wrapped(_ text: String, to columns: Int, indent: Int = 0) -> [String] {
        let columns = max(columns, 2)
        if width(text) <= columns { return [text] }
        let margin = indent < columns / 2 ? indent : 0
        var lines: [String] = []
        var line: [Character] = []
        var filled = 0
        // How much of the line stays if it is broken behind its last blank.
        var blank: Int?
        for character in text {
            let size = width(character)
            if filled + size > columns {
                var rest = character == " " ? [] : blank.map { Array(line[$0...]) } ?? []
                // What does not fit behind the margin either is broken where it is.
                if margin + width(String(rest)) + size > columns { rest = [] }
                let kept = line.dropLast(rest.count)
                lines.append(String(kept.last == " " ? kept.dropLast() : kept))
                line = Array(repeating: " ", count: margin) + rest
                (filled, blank) = (margin + width(String(rest)), nil)
                if rest.isEmpty, character == " " { continue }
            }
            line.append(character)
            filled += size
            if character == " ", line.contains(where: { $0 != " " }) { blank = line.count }
        }
        return lines + [String(line)]
    }

    private static func width(_ character: Character) -> Int {
        let scalars = character.unicodeScalars
        guard let first = scalars.first, !first.isASCII || scalars.count > 1 else { return 1 }
        if isWide(first) || scalars.contains("\u{fe0f}") { return 2 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: return 1
        }
    }

    /// The blocks that Unicode's UAX #11 calls Wide or Fullwidth, by their bounds.
    private static let wideBlocks: [ClosedRange<UInt32>] = [
        0x1100...0x115f, 0x2e80...0x303e, 0x3041...0x4dbf, 0x4e00...0xa4cf, 0xa960...0xa97f,
        0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f, 0xff01...0xff60, 0xffe0...0xffe6,
        0x17000...0x18cff, 0x1b000...0x1b2ff, 0x20000...0x3fffd,
    ]

    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isEmojiPresentation || wideBlocks.contains { $0 ~= scalar.value }
    }
}

// SPDX-License-Identifier: Apache-2.0

import TimerWords

/// What a run wrote to one stream, made harmless for a terminal that shows it.
///
/// A run's output may be another user's, or what somebody else has sent to it: it is not to set the title, fill the clipboard,
/// reorder what is read, or have the terminal answer. Colours stay, and so does what grep(1) ends them with, which clears
/// the rest of a line. Other control characters are in caret notation, other hidden ones as "\u{202e}", bytes of the second set
/// of controls that are no UTF-8 as "\x9b".
struct TerminalText {
    /// Whether a return stays, as that of a progress bar, which writes over its own line.
    let keepsReturns: Bool
    /// The beginning of a character or of a sequence, whose end has not come yet.
    private var pending: [UInt8] = []
    /// Whether a colour may be on.
    private var isStyled = false

    /// A longer sequence is no colour.
    private static let longestSequence = 64
    private static let reset = Array("\u{1b}[0m".utf8)

    init(keepsReturns: Bool) { self.keepsReturns = keepsReturns }

    /// What can be shown with these bytes.
    mutating func take(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        pending += bytes
        return take(isLast: false)
    }

    /// What was waiting for its end, and the usual colours for whatever follows.
    mutating func end() -> [UInt8] {
        defer { isStyled = false }
        return take(isLast: true) + (isStyled ? Self.reset : [])
    }

    private mutating func take(isLast: Bool) -> [UInt8] {
        var shown: [UInt8] = []
        var rest = pending[...]
        while let first = rest.first {
            let plain = rest.prefix { 0x20...0x7e ~= $0 || $0 == 0x0a || $0 == 0x09 }
            if !plain.isEmpty {
                shown += plain
                rest = rest.dropFirst(plain.count)
                continue
            }
            let length = first == 0x1b ? Self.lengthOfStyle(rest) : Self.lengthOfCharacter(rest)
            guard let length = length ?? (isLast ? 0 : nil) else { break }
            if first == 0x1b, length > 0 {
                shown += rest.prefix(length)
                isStyled = true
            } else if first == 0x0d, keepsReturns {
                shown.append(first)
            } else if length > 0 {
                let character = String(decoding: rest.prefix(length), as: UTF8.self)
                shown += HiddenCharacters.escaped(character).utf8
            } else if first < 0x80 {
                shown += [UInt8(ascii: "^"), first ^ 0x40]
            } else if first < 0xa0 {
                shown += "\\x\(String(first, radix: 16))".utf8
            } else {
                // A letter of another encoding.
                shown.append(first)
            }
            rest = rest.dropFirst(max(length, 1))
        }
        pending = Array(rest)
        return shown
    }

    /// How many bytes the sequence has that selects a colour, or clears the rest of the line (ECMA-48, SGR and EL); 0 for
    /// another, nil where its end has not come.
    private static func lengthOfStyle(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard let kind = bytes.dropFirst().first else { return nil }
        guard kind == UInt8(ascii: "[") else { return 0 }
        let parameters = bytes.dropFirst(2).prefix(longestSequence).prefix { byte in
            UInt8(ascii: "0")...UInt8(ascii: ";") ~= byte
        }
        guard let end = bytes.dropFirst(2 + parameters.count).first else { return nil }
        let clears = parameters.isEmpty || parameters.elementsEqual("0".utf8)
        let isStyle = end == UInt8(ascii: "m") || end == UInt8(ascii: "K") && clears
        return isStyle ? 3 + parameters.count : 0
    }

    /// How many bytes the character has, if it is one of UTF-8 beyond ASCII; else 0, and nil where its end has not come.
    private static func lengthOfCharacter(_ bytes: ArraySlice<UInt8>) -> Int? {
        let length =
            switch bytes.first ?? 0 {
            case 0xc2...0xdf: 2
            case 0xe0...0xef: 3
            case 0xf0...0xf4: 4
            default: 0
            }
        let character = bytes.prefix(length)
        if character.count < length {
            return character.dropFirst().allSatisfy { 0x80...0xbf ~= $0 } ? nil : 0
        }
        return String(validating: character, as: UTF8.self) == nil ? 0 : length
    }
}

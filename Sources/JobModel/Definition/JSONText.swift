// SPDX-License-Identifier: Apache-2.0

/// One JSON value as the text that the user wrote: the form of `userInfo`.
///
/// It is checked once, when it arrives, and handed on byte for byte: no key is moved and no number rounded.
/// Two are equal if their bytes are; compare `parsed()` for the meaning.
public struct JSONText: Hashable, Sendable {
    /// On one line, without blanks around it.
    public let text: String

    public static func == (left: Self, right: Self) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    /// Takes what has been checked: a part of a text that was parsed.
    package init(checked bytes: ArraySlice<UInt8>) {
        let rest = bytes.drop(while: Self.isBlank)
        let end = rest.lastIndex { !Self.isBlank($0) }.map { $0 + 1 } ?? rest.startIndex
        let value = rest[..<end]
        let hasBreaks = value.contains { $0 == 0x0A || $0 == 0x0D }
        text = String(
            decoding: hasBreaks ? value.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }[...] : value,
            as: UTF8.self
        )
    }

    /// Takes a text that was checked before it was stored; nil if it plainly is damaged, such as cut off.
    ///
    /// It looks at both ends only: rows are read by the thousand, and few of their values are used.
    package init?(stored text: String) {
        guard let first = text.utf8.first, let last = text.utf8.last else { return nil }
        let isWhole =
            switch first {
            case UInt8(ascii: "{"): last == UInt8(ascii: "}")
            case UInt8(ascii: "["): last == UInt8(ascii: "]")
            case UInt8(ascii: "\""): last == first && text.utf8.count > 1
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(last)
            default: ["true", "false", "null"].contains(text)
            }
        guard isWhole else { return nil }
        self.text = text
    }

    /// How many arrays and objects are inside each other where they are most.
    package var depth: Int {
        var text = text
        return text.withUTF8 { bytes in
            var (depth, deepest, place): (Int, Int, Int) = (0, 0, 0)
            while place < bytes.count {
                switch bytes[place] {
                case UInt8(ascii: "\""):
                    place += 1
                    while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
                        place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
                    }
                case UInt8(ascii: "["), UInt8(ascii: "{"):
                    depth += 1
                    deepest = max(deepest, depth)
                case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
                default: break
                }
                place += 1
            }
            return deepest
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }
}

extension JSONText: CustomStringConvertible {
    public var description: String { text }
}

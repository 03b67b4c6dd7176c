// SPDX-License-Identifier: Apache-2.0

/// A key, as a terminal's bytes tell of it.
enum TopKey: Hashable {
    case character(Character)
    case up, down, pageUp, pageDown, home, end
    case enter, escape, tab, backTab, backspace
    case function(Int)
    /// Ctrl and a letter, such as "c".
    case control(Character)
    /// One that `top` has no use for, such as Alt and a letter.
    case other
}

/// Reads keys from bytes that may come in parts.
struct TopKeyReader {
    /// The beginning of a key whose end has not come.
    private(set) var rest: [UInt8] = []

    private static let escape: UInt8 = 0x1b
    /// Longer than any sequence that a terminal sends for a key.
    private static let longest = 32

    /// The keys in `bytes`, and in what was left before.
    mutating func read(_ bytes: some Sequence<UInt8>) -> [TopKey] {
        rest += bytes
        var keys: [TopKey] = []
        while let (key, length) = first(of: rest) {
            keys.append(key)
            rest.removeFirst(length)
        }
        return keys
    }

    /// What was left is all that comes: an Escape by itself is the key.
    mutating func finish() -> [TopKey] {
        defer { rest = [] }
        return rest.isEmpty ? [] : [rest == [Self.escape] ? .escape : .other]
    }

    /// The first key and how many bytes it has; nil while it may go on.
    private func first(of bytes: [UInt8]) -> (TopKey, Int)? {
        guard let byte = bytes.first else { return nil }
        switch byte {
        case Self.escape: return sequence(bytes)
        case 0x09: return (.tab, 1)
        case 0x0a, 0x0d: return (.enter, 1)
        case 0x08, 0x7f: return (.backspace, 1)
        case 0: return (.other, 1)
        case 1...26: return (.control(Character(Unicode.Scalar(byte + 0x60))), 1)
        case 27..<32: return (.other, 1)
        case ..<0x80: return (.character(Character(Unicode.Scalar(byte))), 1)
        default: return scalar(bytes)
        }
    }

    private func scalar(_ bytes: [UInt8]) -> (TopKey, Int)? {
        let length = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : bytes[0] >= 0xc0 ? 2 : 1
        guard bytes.count >= length else { return nil }
        let text = String(validating: bytes[..<length], as: UTF8.self)
        // A byte that begins no character is passed over by itself.
        guard let text, let character = text.first else { return (.other, 1) }
        return (.character(character), length)
    }

    private func sequence(_ bytes: [UInt8]) -> (TopKey, Int)? {
        guard bytes.count > 1 else { return nil }
        switch bytes[1] {
        case Self.escape: return (.escape, 1)
        case UInt8(ascii: "O"):
            guard bytes.count > 2 else { return nil }
            return (named(bytes[2]), 3)
        case UInt8(ascii: "["):
            // The Linux console's F1 to F5.
            if bytes.count > 2, bytes[2] == UInt8(ascii: "[") {
                return bytes.count > 3 ? (.function(Int(bytes[3]) - 0x40), 4) : nil
            }
            let last = bytes.dropFirst(2).firstIndex { 0x40...0x7e ~= $0 }
            guard let last else { return bytes.count > Self.longest ? (.other, bytes.count) : nil }
            let parameters = bytes[2..<last].prefix { $0 != UInt8(ascii: ";") }
            let number = Int(String(decoding: parameters, as: UTF8.self)) ?? 0
            let isNumbered = bytes[last] == UInt8(ascii: "~")
            return (isNumbered ? numbered(number) : named(bytes[last]), last + 1)
        // Alt and a key: the key alone means something else.
        default:
            guard let (_, length) = first(of: Array(bytes.dropFirst())) else { return nil }
            return (.other, length + 1)
        }
    }

    private func named(_ byte: UInt8) -> TopKey {
        switch Character(Unicode.Scalar(byte)) {
        case "A": .up
        case "B": .down
        case "H": .home
        case "F": .end
        case "M": .enter
        case "Z": .backTab
        case "P": .function(1)
        case "Q": .function(2)
        case "R": .function(3)
        case "S": .function(4)
        default: .other
        }
    }

    private func numbered(_ number: Int) -> TopKey {
        switch number {
        case 1, 7: .home
        case 4, 8: .end
        case 5: .pageUp
        case 6: .pageDown
        case 11...15: .function(number - 10)
        case 17...21: .function(number - 11)
        default: .other
        }
    }
}

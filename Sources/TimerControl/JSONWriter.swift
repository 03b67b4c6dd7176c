// SPDX-License-Identifier: Apache-2.0

/// Writes JSON text on one line, the keys of each object in the order of their bytes.
///
/// Equal values give equal bytes, if their strings have the same scalars. Only what JSON requires is escaped,
/// so neither `/` nor anything beyond ASCII.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: write("null")
        case .bool(let value): write(value ? "true" : "false")
        case .integer(let value): write("\(value)")
        // JSON has no infinity and no NaN: they become null, as in JavaScript.
        case .number(let value): write(value.isFinite ? "\(value)" : "null")
        case .string(let value): writeString(value)
        case .verbatim(let text): write(text.text)
        case .array(let elements):
            write("[")
            for (index, element) in elements.enumerated() {
                if index > 0 { write(",") }
                write(element)
            }
            write("]")
        case .object(let members):
            write("{")
            // By bytes: Swift compares strings by characters, and treats different spellings of one character
            // as equal.
            let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            for (index, member) in sorted.enumerated() {
                if index > 0 { write(",") }
                writeString(member.key)
                write(":")
                write(member.value)
            }
            write("}")
        }
    }

    private mutating func write(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    private mutating func writeString(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        if text.utf8.contains(where: Self.needsEscape) {
            for byte in text.utf8 { writeEscaped(byte) }
        } else {
            bytes.append(contentsOf: text.utf8)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func writeEscaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): write("\\\"")
        case UInt8(ascii: "\\"): write("\\\\")
        case 0x08: write("\\b")
        case 0x0C: write("\\f")
        case 0x0A: write("\\n")
        case 0x0D: write("\\r")
        case 0x09: write("\\t")
        case 0..<0x20:
            let digits = Array("0123456789abcdef".utf8)
            write("\\u00")
            bytes.append(digits[Int(byte >> 4)])
            bytes.append(digits[Int(byte & 15)])
        default: bytes.append(byte)
        }
    }
}

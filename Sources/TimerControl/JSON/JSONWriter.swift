// SPDX-License-Identifier: Apache-2.0

import Schedules

/// Writes JSON text on one line, the keys of each object in the order of their bytes.
///
/// Equal values give equal bytes, if their strings have the same scalars. Only what JSON requires is escaped,
/// so neither `/` nor anything beyond ASCII.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []

    /// `capacity`: how many bytes are expected.
    package init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: writeNull()
        case .bool(let value): write(value)
        case .integer(let value): write(value)
        case .number(let value): write(value)
        case .string(let value): writeString(value)
        case .verbatim(let text): write(text.text)
        case .array(let elements): array(elements) { $0.write($1) }
        case .object(let members):
            object { writer in
                // By bytes: Swift compares strings by characters, and treats different spellings of one
                // character as equal.
                let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
                for (key, value) in sorted {
                    writer.comma()
                    writer.writeString(key)
                    writer.write(":")
                    writer.write(value)
                }
            }
        }
    }

    package mutating func writeNull() { write("null") }

    private mutating func write(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    package mutating func writeString(_ text: String) {
        var text = text
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8 { text in
            if text.contains(where: Self.needsEscape) {
                for byte in text { writeEscaped(byte) }
            } else {
                bytes.append(contentsOf: text)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// How many bytes `writeString` writes, of a control character six; 0 for nil.
    package static func byteCount(of text: String?) -> Int {
        guard let text else { return 0 }
        var writer = Self(capacity: text.utf8.count + 2)
        writer.writeString(text)
        return writer.bytes.count
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
            write("\\u00")
            bytes.append(UInt8(ascii: "0") + byte >> 4)
            let last = byte & 15
            bytes.append(last < 10 ? UInt8(ascii: "0") + last : UInt8(ascii: "a") + last - 10)
        default: bytes.append(byte)
        }
    }

    mutating func write(_ value: Bool) { write(value ? "true" : "false") }

    package mutating func write(_ value: Int64) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var start = digits.count
            var rest = value.magnitude
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if value < 0 { bytes.append(UInt8(ascii: "-")) }
            bytes.append(contentsOf: digits[start...])
        }
    }

    /// JSON has no infinity and no NaN: they become null, as in JavaScript.
    mutating func write(_ value: Double) { write(value.isFinite ? "\(value)" : "null") }

    /// In RFC 3339, as `Timestamp` encodes itself.
    mutating func write(_ value: Timestamp) {
        bytes.append(UInt8(ascii: "\""))
        value.appendRFC3339(to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func write(_ value: JSONText) { write(value.text) }
}

/// Objects and arrays, member by member.
extension JSONWriter {
    /// Writes an object; `body` writes its members in the order of the bytes of their keys.
    mutating func object(_ body: (inout Self) -> Void) {
        bytes.append(UInt8(ascii: "{"))
        body(&self)
        bytes.append(UInt8(ascii: "}"))
    }

    package mutating func array<Element>(
        _ elements: some Collection<Element>,
        _ write: (inout Self, Element) -> Void
    ) {
        array { writer in
            for element in elements {
                writer.comma()
                write(&writer, element)
            }
        }
    }

    /// Writes an array; `body` writes its elements, a comma before each.
    package mutating func array(_ body: (inout Self) -> Void) {
        bytes.append(UInt8(ascii: "["))
        body(&self)
        bytes.append(UInt8(ascii: "]"))
    }

    /// Begins a member; its value follows.
    ///
    /// `name` is one of the protocol's own, without anything to escape.
    mutating func key(_ name: String) {
        comma()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: name.utf8)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    /// Separates a member or an element from the one before, if there is one.
    package mutating func comma() {
        // What ends with a bracket that opens is empty: any text stands in quotes.
        guard let last = bytes.last, last != UInt8(ascii: "{"), last != UInt8(ascii: "[") else {
            return
        }
        bytes.append(UInt8(ascii: ","))
    }

    // A member that is nil is left out.

    mutating func member(_ name: String, _ value: String?) {
        guard let value else { return }
        key(name)
        writeString(value)
    }

    mutating func member(_ name: String, _ value: (some RawRepresentable<String>)?) {
        member(name, value?.rawValue)
    }

    mutating func member(_ name: String, _ value: (some BinaryInteger)?) {
        guard let value else { return }
        key(name)
        write(Int64(value))
    }

    mutating func member(_ name: String, _ value: Double?) {
        guard let value else { return }
        key(name)
        write(value)
    }

    mutating func member(_ name: String, _ value: Bool?) {
        guard let value else { return }
        key(name)
        write(value)
    }

    mutating func member(_ name: String, _ value: Timestamp?) {
        guard let value else { return }
        key(name)
        write(value)
    }

    mutating func member(_ name: String, _ value: JSONText?) {
        guard let value else { return }
        key(name)
        write(value)
    }

    mutating func member(_ name: String, _ value: (some JSONWritable)?) {
        guard let value else { return }
        key(name)
        value.write(to: &self)
    }

    mutating func member(_ name: String, _ values: [some JSONWritable]?) {
        guard let values else { return }
        key(name)
        array(values) { $1.write(to: &$0) }
    }

    mutating func member(_ name: String, _ values: [String]?) {
        guard let values else { return }
        key(name)
        array(values) { $0.writeString($1) }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules

/// Hands a JSON value to a type's `init(from:)`.
///
/// Throws `JSONMismatch`, which says where, what is there and what was expected.
struct JSONValueDecoder: Decoder {
    /// The value as it came, possibly kept as text.
    let given: JSONValue
    let path: JSONPath

    init(_ value: JSONValue, at path: JSONPath) {
        given = value
        self.path = path
    }

    /// The value with its parts; a text is parsed anew each time, as it is mostly asked for as text.
    var value: JSONValue { given.read }

    var codingPath: [any CodingKey] { path.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = value else { throw mismatch("an object") }
        return KeyedDecodingContainer(JSONObjectDecoder<Key>(members: members, path: path))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw mismatch("an array") }
        return JSONArrayDecoder(elements: elements, path: path)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    /// The value as any type.
    func decoded<T: Decodable>(_ type: T.Type) throws -> T {
        // Types are compared first, since a cast that fails costs more than most decoding.
        if T.self == JSONValue.self, let value = value as? T { return value }
        if T.self == JSONText.self, let text = JSONText(given) as? T { return text }
        do {
            return try T(from: self)
        } catch DecodingError.dataCorrupted {
            // Thrown by an enum of words for a word that is not its own.
            let form =
                type is Timestamp.Type
                ? "a date with its offset such as '2026-12-01T08:00:00Z'" : "a \(T.self)"
            throw mismatch(wordList(of: type) ?? form, found: value.jsonText)
        }
    }

    func mismatch(_ expected: String, found: String? = nil) -> JSONMismatch {
        JSONMismatch(path: path.text, found: found ?? value.kind, expected: expected)
    }

    /// The words that an enum of strings accepts, as a sentence would list them.
    private func wordList<T>(of type: T.Type) -> String? {
        func words<Words: CaseIterable & RawRepresentable<String>>(of type: Words.Type) -> String {
            let words = type.allCases.map { "'\($0.rawValue)'" }
            return words.count < 2
                ? words.joined()
                : words.dropLast().joined(separator: ", ") + " or \(words[words.count - 1])"
        }
        guard let type = type as? any (CaseIterable & RawRepresentable<String>).Type else {
            return nil
        }
        return words(of: type)
    }
}

extension JSONValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { value == .null }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard case .bool(let value) = value else { throw mismatch("true or false") }
        return value
    }

    func decode(_ type: String.Type) throws -> String {
        guard case .string(let value) = value else { throw mismatch("a string") }
        return value
    }

    func decode(_ type: Double.Type) throws -> Double {
        switch value {
        case .integer(let value): return Double(value)
        case .number(let value): return value
        default: throw mismatch("a number")
        }
    }

    func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }
    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try decoded(type) }

    private func integer<Integer: FixedWidthInteger>() throws -> Integer {
        let exact: Integer? =
            switch value {
            case .integer(let value): Integer(exactly: value)
            // JSON does not tell 5.0 from 5.
            case .number(let value): Integer(exactly: value)
            default: throw mismatch("an integer")
            }
        guard let exact else {
            throw mismatch("an integer of \(Integer.bitWidth) bits", found: value.jsonText)
        }
        return exact
    }
}

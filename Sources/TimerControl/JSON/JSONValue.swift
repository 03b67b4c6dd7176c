// SPDX-License-Identifier: Apache-2.0

/// Any JSON value: between the text and the wire types.
///
/// Integers that fit 64 bits stay exact; other numbers are doubles, as in most JSON programs.
public enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A finite number; any other is written as null.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])
    /// A value that is kept as its text: written byte for byte, parsed when its parts are asked for.
    ///
    /// Only `userInfo` in the protocol's messages is read as one.
    case verbatim(JSONText)
}

extension JSONValue {
    /// Reads JSON text strictly: UTF-8, no key twice in an object, at most 64 levels deep.
    public init(parsing text: [UInt8]) throws(JSONSyntaxError) {
        self = try JSONParser.parse(text)
    }

    /// Reads JSON text strictly: no key twice in an object, at most 64 levels deep.
    public init(parsing text: String) throws(JSONSyntaxError) {
        try self.init(parsing: Array(text.utf8))
    }

    /// Reads one message of the protocol: the value of `userInfo` is kept as its text.
    init(parsingMessage line: [UInt8]) throws(JSONSyntaxError) {
        self = try JSONParser.parse(line, keeping: "userInfo")
    }

    /// The same value; parsed, if it is kept as text.
    ///
    /// Null for a text with a number that no double holds, and for one that is not JSON, from a damaged database.
    var read: JSONValue {
        // try?: see above; the text was checked before it was stored.
        if case .verbatim(let text) = self { (try? text.parsed()) ?? .null } else { self }
    }

    /// The value as JSON text on one line, the keys of objects sorted; equal for equal values.
    public var jsonText: String { String(decoding: jsonBytes, as: UTF8.self) }

    /// The bytes of `jsonText`.
    public var jsonBytes: [UInt8] {
        var writer = JSONWriter()
        writer.write(self)
        return writer.bytes
    }

    /// What a type's `Encodable` makes of a value.
    ///
    /// - Throws: what the type's own `encode(to:)` throws; the wire types throw nothing.
    public init(encoding value: some Encodable) throws {
        let encoder = JSONValueEncoder()
        self = try encoder.encoded(value)
    }

    /// What a type's `Decodable` makes of the value; unknown fields are ignored.
    ///
    /// - Throws: `JSONMismatch` where the value is not of the type's shape, and what the type's own
    ///   `init(from:)` throws.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try JSONValueDecoder(self, at: .root).decoded(type)
    }

    /// The member of an object; nil for other values, and if it is missing.
    public subscript(key: String) -> JSONValue? {
        if case .object(let members) = read { members[key] } else { nil }
    }

    /// What the value is, in the words of an error message: "a number".
    public var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a truth value"
        case .integer, .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        case .verbatim: read.kind
        }
    }
}

extension JSONValue: Codable {
    /// Decodes with any decoder by trying each type; `init(parsing:)` is better for text.
    public init(from decoder: any Decoder) throws {
        if let decoder = decoder as? JSONValueDecoder {
            self = decoder.given
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = attempt(Bool.self, in: container) {
            self = .bool(value)
        } else if let value = attempt(String.self, in: container) {
            self = .string(value)
        } else if let value = attempt(Int64.self, in: container) {
            self = .integer(value)
        } else if let value = attempt(Double.self, in: container) {
            self = .number(value)
        } else if let value = attempt([JSONValue].self, in: container) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        case .verbatim: try container.encode(read)
        }
    }
}

private func attempt<T: Decodable>(
    _ type: T.Type,
    in container: any SingleValueDecodingContainer
) -> T? {
    // try?: the only way to learn a container's type is to try; the last try reports.
    try? container.decode(type)
}

// SPDX-License-Identifier: Apache-2.0

extension JSONText {
    /// Takes the text of one JSON value, which it checks as `JSONValue(parsing:)` does, but for the size of its numbers.
    ///
    /// Line breaks, which JSON has between values alone, become blanks: a value travels on a line.
    public init(parsing text: [UInt8]) throws(JSONSyntaxError) {
        try JSONParser.check(text)
        self.init(checked: text[...])
    }

    /// Takes the text of one JSON value, as above.
    public init(parsing text: String) throws(JSONSyntaxError) {
        try self.init(parsing: Array(text.utf8))
    }

    /// The value as `JSONValue.jsonText` writes it.
    public init(_ value: JSONValue) {
        if case .verbatim(let text) = value {
            self = text
        } else {
            self.init(checked: value.jsonBytes[...])
        }
    }

    /// What a type's `Encodable` makes of a value.
    ///
    /// - Throws: what the type's own `encode(to:)` throws.
    public init(encoding value: some Encodable) throws {
        self.init(try JSONValue(encoding: value))
    }

    /// The value that it is the text of.
    ///
    /// - Throws: for a number that no double holds, such as 1e400, and for a text from a damaged database.
    public func parsed() throws(JSONSyntaxError) -> JSONValue { try JSONValue(parsing: text) }

    /// What a type's `Decodable` makes of it.
    ///
    /// - Throws: `JSONMismatch` where the value is not of the type's shape, and as `parsed()`.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try parsed().decoded(as: type)
    }
}

extension JSONText: Codable {
    /// With the protocol's own decoder it is the text that came; with another, what that made of it.
    public init(from decoder: any Decoder) throws {
        self.init(try JSONValue(from: decoder))
    }

    public func encode(to encoder: any Encoder) throws {
        try JSONValue.verbatim(self).encode(to: encoder)
    }
}

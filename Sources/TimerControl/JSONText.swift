// SPDX-License-Identifier: Apache-2.0

/// One JSON value as the text that the user wrote: the form of `userInfo`.
///
/// It is checked once, when it arrives, and handed on byte for byte: no key is moved and no number rounded.
/// Two are equal if their bytes are; compare `parsed()` for the meaning.
public struct JSONText: Hashable, Sendable {
    /// On one line, without blanks around it.
    public let text: String

    /// Takes the text of one JSON value, which it checks as `JSONValue(parsing:)` does.
    ///
    /// Line breaks, which JSON allows only between values, become blanks: a value is sent on one line.
    public init(parsing text: [UInt8]) throws(JSONSyntaxError) {
        _ = try JSONParser.parse(text)
        self.init(checked: text[...])
    }

    /// Takes the text of one JSON value, as above.
    public init(parsing text: String) throws(JSONSyntaxError) {
        try self.init(parsing: Array(text.utf8))
    }

    /// The value as `JSONValue.jsonText` writes it.
    public init(_ value: JSONValue) {
        if case .verbatim(let text) = value { self = text } else { text = value.jsonText }
    }

    /// What a type's `Encodable` makes of a value.
    ///
    /// - Throws: what the type's own `encode(to:)` throws.
    public init(encoding value: some Encodable) throws {
        self.init(try JSONValue(encoding: value))
    }

    /// Takes a part of a text that was parsed, unchecked.
    init(checked bytes: ArraySlice<UInt8>) {
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

    /// The value that the text stands for.
    ///
    /// - Throws: for a text from a damaged database.
    public func parsed() throws(JSONSyntaxError) -> JSONValue { try JSONValue(parsing: text) }

    /// What a type's `Decodable` makes of it.
    ///
    /// - Throws: `JSONMismatch` where the value is not of the type's shape, and as `parsed()`.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try parsed().decoded(as: type)
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }
}

extension JSONText: Codable {
    /// With the protocol's own decoder it is the text that came; with another, the decoded value written
    /// anew.
    public init(from decoder: any Decoder) throws {
        self.init(try JSONValue(from: decoder))
    }

    public func encode(to encoder: any Encoder) throws {
        try JSONValue.verbatim(self).encode(to: encoder)
    }
}

extension JSONText: CustomStringConvertible {
    public var description: String { text }
}

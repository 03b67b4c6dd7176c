// SPDX-License-Identifier: Apache-2.0

/// Makes a JSON value of what a type's `encode(to:)` hands over.
final class JSONValueEncoder: Encoder {
    private var value: JSONValue?
    private var members: [String: JSONValue]?
    private var elements: [JSONValue]?
    /// Encoders for parts of this value, whose values are taken over at the end.
    private var parts: [(key: String, encoder: JSONValueEncoder)] = []

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        // An object that was begun is kept: a type may encode another into its own object, as Job does.
        if members == nil { members = [:] }
        return KeyedEncodingContainer(JSONObjectEncoder<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if elements == nil { elements = [] }
        return self
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    /// The value that `value` encodes itself as, by a fresh encoder.
    func encoded<T: Encodable>(_ value: T) throws -> JSONValue {
        // Types are compared first, since a cast that fails costs more than most encoding.
        if T.self == JSONValue.self, let value = value as? JSONValue { return value }
        if T.self == JSONText.self, let text = value as? JSONText { return .verbatim(text) }
        let encoder = JSONValueEncoder()
        try value.encode(to: encoder)
        return encoder.result
    }

    /// The value of all that came; null if nothing did.
    private var result: JSONValue {
        if var members {
            for part in parts { members[part.key] = part.encoder.result }
            return .object(members)
        }
        if var elements {
            for part in parts.reversed() {
                // A part of an array has left null in its place; its key is the index.
                if let index = Int(part.key) { elements[index] = part.encoder.result }
            }
            return .array(elements)
        }
        return value ?? .null
    }

    fileprivate func set(_ value: JSONValue, forKey key: String) { members?[key] = value }

    fileprivate func part(forKey key: String) -> JSONValueEncoder {
        let encoder = JSONValueEncoder()
        parts.append((key, encoder))
        return encoder
    }

    private func nextPart() -> JSONValueEncoder {
        let encoder = part(forKey: String(count))
        elements?.append(.null)
        return encoder
    }
}

extension JSONValueEncoder: SingleValueEncodingContainer, UnkeyedEncodingContainer {
    var count: Int { elements?.count ?? 0 }

    func encodeNil() { put(.null) }
    func encode(_ value: Bool) { put(.bool(value)) }
    func encode(_ value: String) { put(.string(value)) }
    func encode(_ value: Double) { put(.number(value)) }
    func encode(_ value: Float) { put(.number(Double(value))) }
    func encode(_ value: Int) { put(integer(value)) }
    func encode(_ value: Int8) { put(integer(value)) }
    func encode(_ value: Int16) { put(integer(value)) }
    func encode(_ value: Int32) { put(integer(value)) }
    func encode(_ value: Int64) { put(integer(value)) }
    func encode(_ value: UInt) { put(integer(value)) }
    func encode(_ value: UInt8) { put(integer(value)) }
    func encode(_ value: UInt16) { put(integer(value)) }
    func encode(_ value: UInt32) { put(integer(value)) }
    func encode(_ value: UInt64) { put(integer(value)) }
    func encode<T: Encodable>(_ value: T) throws { put(try encoded(value)) }

    func nestedContainer<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        nextPart().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nextPart().unkeyedContainer() }
    func superEncoder() -> any Encoder { nextPart() }

    /// Takes a value: as an element if an array was begun, else as the whole.
    private func put(_ value: JSONValue) {
        if elements == nil { self.value = value } else { elements?.append(value) }
    }
}

/// The members of an object, as `Codable` hands them over.
private struct JSONObjectEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: JSONValueEncoder

    var codingPath: [any CodingKey] { [] }

    mutating func encodeNil(forKey key: Key) { set(.null, key) }
    mutating func encode(_ value: Bool, forKey key: Key) { set(.bool(value), key) }
    mutating func encode(_ value: String, forKey key: Key) { set(.string(value), key) }
    mutating func encode(_ value: Int, forKey key: Key) { set(integer(value), key) }
    mutating func encode(_ value: Int64, forKey key: Key) { set(integer(value), key) }
    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        set(try encoder.encoded(value), key)
    }

    mutating func nestedContainer<NestedKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        encoder.part(forKey: key.stringValue).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.part(forKey: key.stringValue).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { encoder.part(forKey: "super") }
    mutating func superEncoder(forKey key: Key) -> any Encoder {
        encoder.part(forKey: key.stringValue)
    }

    private func set(_ value: JSONValue, _ key: Key) { encoder.set(value, forKey: key.stringValue) }
}

/// Exact if it fits 64 bits with a sign; else a double, as it would be when it is read back.
private func integer(_ value: some FixedWidthInteger) -> JSONValue {
    Int64(exactly: value).map(JSONValue.integer) ?? .number(Double(value))
}

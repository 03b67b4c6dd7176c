// SPDX-License-Identifier: Apache-2.0

/// The members of an object, as `Codable` asks for them.
struct JSONObjectDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: [String: JSONValue]
    let path: JSONPath

    var codingPath: [any CodingKey] { path.codingPath }
    var allKeys: [Key] { members.keys.compactMap(Key.init(stringValue:)) }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try member(key).decodeNil() }

    // The types that the wire uses most are looked up once, and no path is made unless that fails.

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        if case .bool(let value) = members[key.stringValue] { return value }
        return try member(key).decode(type)
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        if case .string(let value) = members[key.stringValue] { return value }
        return try member(key).decode(type)
    }

    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        if case .integer(let value) = members[key.stringValue] { return Int(value) }
        return try member(key).decode(type)
    }

    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        if case .integer(let value) = members[key.stringValue] { return value }
        return try member(key).decode(type)
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try member(key).decoded(type)
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        switch members[key.stringValue] {
        case nil, .null: nil
        case .bool(let value): value
        default: try member(key).decode(type)
        }
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        switch members[key.stringValue] {
        case nil, .null: nil
        case .string(let value): value
        default: try member(key).decode(type)
        }
    }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        switch members[key.stringValue] {
        case nil, .null: nil
        case .integer(let value): Int(value)
        default: try member(key).decode(type)
        }
    }

    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
        switch members[key.stringValue] {
        case nil, .null: nil
        case .integer(let value): value
        default: try member(key).decode(type)
        }
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        switch members[key.stringValue] {
        case nil, .null: nil
        case let value?: try JSONValueDecoder(value, at: .key(path, key.stringValue)).decoded(type)
        }
    }

    func nestedContainer<NestedKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try member(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try member("super") }
    func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }

    private func member(_ key: Key) throws -> JSONValueDecoder { try member(key.stringValue) }

    private func member(_ key: String) throws -> JSONValueDecoder {
        guard let value = members[key] else {
            throw JSONMismatch(
                path: JSONPath.key(path, key).text,
                found: nil,
                expected: "a value"
            )
        }
        return JSONValueDecoder(value, at: .key(path, key))
    }
}

/// The elements of an array, as `Codable` asks for them.
struct JSONArrayDecoder: UnkeyedDecodingContainer {
    let elements: [JSONValue]
    let path: JSONPath
    private(set) var currentIndex = 0

    init(elements: [JSONValue], path: JSONPath) {
        self.elements = elements
        self.path = path
    }

    var codingPath: [any CodingKey] { path.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    mutating func decodeNil() throws -> Bool {
        guard try element().decodeNil() else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let value = try element().decoded(type)
        currentIndex += 1
        return value
    }

    mutating func nestedContainer<NestedKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let container = try element().container(keyedBy: type)
        currentIndex += 1
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let container = try element().unkeyedContainer()
        currentIndex += 1
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let decoder = try element()
        currentIndex += 1
        return decoder
    }

    private func element() throws -> JSONValueDecoder {
        guard !isAtEnd else {
            throw JSONMismatch(
                path: JSONPath.index(path, currentIndex).text,
                found: nil,
                expected: "a value"
            )
        }
        return JSONValueDecoder(elements[currentIndex], at: .index(path, currentIndex))
    }
}

// SPDX-License-Identifier: Apache-2.0

/// Where a JSON value was not of the shape that was asked for.
public struct JSONMismatch: Error, Hashable, Sendable {
    /// The way to the value, such as `jobs[3].schedule.every`; empty for the whole.
    public var path: String
    /// What is there, such as "a number"; nil for nothing.
    public var found: String?
    /// What was asked for, such as "a string".
    public var expected: String
}

extension JSONMismatch: CustomStringConvertible {
    public var description: String {
        let place = path.isEmpty ? "the value" : "'\(path)'"
        guard let found else { return "\(place) is missing" }
        return "\(place) is \(found), expected \(expected)"
    }
}

/// The path from the outermost value to one inside it; its text is made only for an error.
indirect enum JSONPath {
    case root
    case key(JSONPath, String)
    case index(JSONPath, Int)

    var text: String {
        switch self {
        case .root: ""
        case .key(.root, let key): key
        case .key(let path, let key): "\(path.text).\(key)"
        case .index(let path, let index): "\(path.text)[\(index)]"
        }
    }

    var codingPath: [any CodingKey] {
        switch self {
        case .root: []
        case .key(let path, let key): path.codingPath + [JSONKey(stringValue: key)]
        case .index(let path, let index): path.codingPath + [JSONKey(intValue: index)]
        }
    }
}

/// A key of any object or a place in an array, as `Codable` wants it.
struct JSONKey: CodingKey {
    var stringValue: String
    var intValue: Int?

    init(stringValue: String) { self.stringValue = stringValue }

    init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }
}

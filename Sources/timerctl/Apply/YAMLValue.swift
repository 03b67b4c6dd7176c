// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Where something stands in a file; lines and columns count from 1.
struct Place: Hashable, Comparable, Sendable, CustomStringConvertible {
    var file: String
    var line: Int
    var column: Int

    var description: String { "\(file):\(line):\(column)" }

    static func < (one: Self, other: Self) -> Bool {
        (one.file, one.line, one.column) < (other.file, other.line, other.column)
    }
}

/// One mistake in a file, and its place.
struct Mistake: Error, Hashable, Sendable, CustomStringConvertible {
    var place: Place
    /// As in `Failure`: lower case, no full stop.
    var message: String

    var description: String { "\(place): \(message)" }
}

/// All mistakes in some files.
struct Mistakes: Error, Hashable {
    /// By file, line and column.
    let all: [Mistake]

    init(_ mistakes: [Mistake]) { all = mistakes.sorted { $0.place < $1.place } }
}

/// A value of a YAML document with its place; JSON is YAML, too.
struct YAMLValue: Sendable {
    var place: Place
    var content: Content

    enum Content: Sendable {
        /// The text as it was written; `isPlain`: without quotes, so that it may be a number.
        case scalar(String, isPlain: Bool)
        case list([YAMLValue])
        case map([(key: YAMLValue, value: YAMLValue)])
    }

    /// The text of a scalar as it is written: `10` or `no` in a command is that word.
    ///
    /// Nil for a list, a map and null.
    var text: String? {
        guard case .scalar(let text, let isPlain) = content, !(isPlain && isNull) else {
            return nil
        }
        return text
    }

    var isNull: Bool {
        guard case .scalar(let text, isPlain: true) = content else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(text)
    }

    /// Whether it is text whatever it looks like: "3" in quotes is no number.
    var isQuoted: Bool {
        guard case .scalar(_, isPlain: false) = content else { return false }
        return true
    }

    /// The value as JSON, by the core schema of YAML 1.2: `yes` is a string, `true` is not.
    ///
    /// - Throws: a `Mistake` for a key that is no string, and for a number that JSON cannot express.
    var json: JSONValue {
        get throws(Mistake) {
            switch content {
            case .scalar(let text, isPlain: false): return .string(text)
            case .scalar(let text, isPlain: true): return try plain(text)
            case .list(let elements):
                return .array(try elements.map { (element) throws(Mistake) in try element.json })
            case .map(let members):
                var object: [String: JSONValue] = [:]
                for (key, value) in members {
                    guard let name = key.text else {
                        throw Mistake(place: key.place, message: "a key is \(key.kind), not a name")
                    }
                    object[name] = try value.json
                }
                return .object(object)
            }
        }
    }

    private func plain(_ text: String) throws(Mistake) -> JSONValue {
        if isNull { return .null }
        if ["true", "True", "TRUE"].contains(text) { return .bool(true) }
        if ["false", "False", "FALSE"].contains(text) { return .bool(false) }
        if let number = integer(text) { return .integer(number) }
        if Self.isDecimal(text), let number = Double(text) { return .number(number) }
        let unsigned = text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : text[...]
        guard ![".inf", ".Inf", ".INF"].contains(unsigned),
            ![".nan", ".NaN", ".NAN"].contains(text)
        else { throw Mistake(place: place, message: "'\(text)' is no number that JSON has") }
        return .string(text)
    }

    /// Whether it has the form `[-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`.
    private static func isDecimal(_ text: String) -> Bool {
        var rest = text.utf8[...]
        func skip(_ bytes: String) -> Bool {
            guard let byte = rest.first, bytes.utf8.contains(byte) else { return false }
            rest.removeFirst()
            return true
        }
        func skipDigits() -> Bool {
            let count = rest.count
            rest = rest.drop { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
            return rest.count < count
        }
        _ = skip("-+")
        let hasWhole = skipDigits()
        let hasFraction = skip(".") && skipDigits()
        guard hasWhole || hasFraction else { return false }
        if skip("eE") {
            _ = skip("-+")
            guard skipDigits() else { return false }
        }
        return rest.isEmpty
    }

    private func integer(_ text: String) -> Int64? {
        if text.hasPrefix("0x") { return Int64(text.dropFirst(2), radix: 16) }
        if text.hasPrefix("0o") { return Int64(text.dropFirst(2), radix: 8) }
        return Int64(text)
    }

    /// The value in the words of a message: "'soon'", "a list".
    var kind: String {
        switch content {
        case .scalar where isNull: "empty"
        case .scalar(let text, _): "'\(Printable.cut(text, to: 60))'"
        case .list(let elements): elements.isEmpty ? "an empty list" : "a list"
        case .map: "a map"
        }
    }
}

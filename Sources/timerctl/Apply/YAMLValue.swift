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

    /// The same as it is shown where a URL may stand.
    var masked: Self {
        guard case .scalar(let text, let isPlain) = content else { return self }
        let shown = JobDefinition.reference(text)
        return Self(place: place, content: .scalar(shown, isPlain: isPlain))
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

    /// The same as text, in which numbers and the order of keys are as they were written.
    ///
    /// - Throws: a `Mistake` for a key that is no string, for infinities and for what is not a number.
    var jsonText: JSONText {
        get throws(Mistake) {
            var text = ""
            try write(to: &text)
            return JSONText(checked: Array(text.utf8)[...])
        }
    }

    private func write(to text: inout String) throws(Mistake) {
        switch content {
        case .scalar(let word, isPlain: false): text += JSONValue.string(word).jsonText
        case .scalar(let word, isPlain: true): text += try plainText(word)
        case .list(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += "," }
                try element.write(to: &text)
            }
            text += "]"
        case .map(let members):
            text += "{"
            for (index, (key, value)) in members.enumerated() {
                guard let name = key.text else {
                    throw Mistake(place: key.place, message: "a key is \(key.kind), not a name")
                }
                text += (index > 0 ? "," : "") + JSONValue.string(name).jsonText + ":"
                try value.write(to: &text)
            }
            text += "}"
        }
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

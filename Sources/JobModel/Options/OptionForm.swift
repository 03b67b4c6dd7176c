// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// What an option may hold.
package enum OptionForm: Hashable, Sendable {
    /// Some text on one line.
    case label
    case labels
    /// A program and its arguments; for people also a line for `/bin/sh -c`.
    case command
    case environment
    case json
    /// An absolute one.
    case path
    case flag
    case integer(ClosedRange<Int>)
    /// The number of a process.
    case process
    case exitCodes
    case choice([String])
    case date
    /// A length of time, up to 100 years.
    case duration(from: TimeSpan)
    /// `D` or `D..MAX`.
    case backoff
    /// A number of bytes, perhaps with K, M, G or T for a power of 1024.
    case bytes(ClosedRange<Int>)
    /// Whole percent of one processor.
    case percent
    /// A file mode creation mask.
    case octal
    /// Of a schedule.
    case expression(example: String)
    case zone
    /// Absolute paths of files, each after a dash where there need not be one.
    case files
    /// Secrets of a run, each a name, perhaps with the absolute path of a file.
    case credentials
    /// Where notices go.
    case places
    /// Some of these words.
    case words([String])
    /// Of HTTP.
    case url

    /// The shape of a value, on the wire and in files.
    package enum Shape: Hashable, Sendable {
        case text, texts, variables, integer, integers, flag, json
    }

    package var shape: Shape {
        switch self {
        case .label, .path, .choice, .date, .duration, .backoff, .bytes, .percent, .octal,
            .expression, .zone, .url:
            .text
        case .labels, .command, .places, .words, .files, .credentials: .texts
        case .environment: .variables
        case .json: .json
        case .flag: .flag
        case .integer, .process: .integer
        case .exitCodes: .integers
        }
    }

    /// What is accepted, in the words of a message.
    package var accepted: String {
        switch self {
        case .label: "a name of 1 to \(Limits.name) bytes without control characters"
        case .labels: "a list of tags"
        case .command: "[program, argument, ...]"
        case .environment: "a map of names to text"
        case .json: "any value"
        case .path: "an absolute path"
        case .files: "a list of absolute paths"
        case .credentials:
            "NAME or NAME:FILE, a printable name without a blank or '/' and an absolute path"
        case .flag: "true or false"
        case .integer(let range):
            "a number from \(range.lowerBound) "
                + (range.upperBound == .max ? "upwards" : "to \(range.upperBound)")
        case .process: "the number of a process"
        case .exitCodes: "a list of exit statuses, 0 to 255"
        case .choice(let words): Self.list(words)
        case .date: "a date such as '2026-12-31 18:00'"
        case .duration(let least):
            "a duration of \(least) to 100 years, such as '90s' or '1h 30min'"
        case .backoff: "D or D..MAX, such as 10s..5min, with MAX not below D"
        case .bytes(let range) where range.upperBound == .max:
            "a number of bytes, or with K, M, G or T: 512M"
        case .bytes(let range):
            "a number of bytes, or with K or M, from \(range.lowerBound) to \(range.upperBound >> 20)M"
        case .percent: "percent of one processor from 1% to 100000%, such as 50% or 200%"
        case .octal: "an octal number from 0 to 777"
        case .expression(let example): "text such as '\(example)'"
        case .zone: "a zone such as 'Europe/Berlin'"
        case .places:
            "mail:ADDRESS, mail (to the owner), http://..., https://..., 'command:LINE', desktop or none"
        case .words(let words): Self.list(words)
        case .url: "a URL that begins with http:// or https://"
        }
    }

    private static func list(_ words: [String]) -> String {
        words.dropLast().map { "'\($0)'" }.joined(separator: ", ") + " or '\(words.last ?? "")'"
    }

    /// What JSON has for it, with an example where the words have a form of their own.
    package var expectedJSON: String {
        switch self {
        case .label, .choice: "a string"
        case .labels: "an array such as [\"nightly\"]"
        case .command: "an array such as [\"/bin/echo\", \"hello\"]"
        case .environment: "an object such as {\"LANG\": \"C\"}"
        case .json: "a value"
        case .path: "a string such as '/srv'"
        case .files: "an array such as [\"/etc/backup.env\"]"
        case .credentials: "an array such as [\"token:/etc/backup.token\"]"
        case .flag: "true or false"
        case .integer, .process: "an integer"
        case .exitCodes: "an array such as [0, 3]"
        case .date: "a string such as 'tomorrow 09:00'"
        case .duration: "a string such as '5s'"
        case .backoff: "a string such as '10s..5min'"
        case .bytes(let range):
            "a string such as '\(range.upperBound == .max ? "512M" : "256K")'"
        case .percent: "a string such as '50%'"
        case .octal: "a string such as '022'"
        case .expression(let example): "a string such as '\(example)'"
        case .zone: "a string such as 'Europe/Berlin'"
        case .places: "an array such as [\"mail:ops@example.org\"]"
        case .words(let words): "an array such as [\"\(words.first ?? "")\"]"
        case .url: "a string such as 'https://ping.example/backup'"
        }
    }
}

/// What is stated for an option.
package enum OptionValue: Hashable, Sendable {
    case text(String)
    case texts([String])
    case variables([String: String])
    case integer(Int)
    case integers([Int])
    case flag(Bool)
    case json(JSONText)

    /// By their bytes: texts of one meaning in Unicode, which are one to Swift, name two files.
    package static func == (left: Self, right: Self) -> Bool {
        func isSame(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
        switch (left, right) {
        case (.text(let left), .text(let right)): return isSame(left, right)
        case (.texts(let left), .texts(let right)): return left.elementsEqual(right, by: isSame)
        case (.variables(let left), .variables(let right)):
            return left.count == right.count
                && left.allSatisfy { name, value in
                    guard let index = right.index(forKey: name) else { return false }
                    return isSame(right[index].key, name) && isSame(right[index].value, value)
                }
        case (.integer(let left), .integer(let right)): return left == right
        case (.integers(let left), .integers(let right)): return left == right
        case (.flag(let left), .flag(let right)): return left == right
        case (.json(let left), .json(let right)): return isSame(left.text, right.text)
        default: return false
        }
    }

    /// Whether it states nothing: no tags, no variables.
    package var isEmpty: Bool { self == .texts([]) || self == .variables([:]) }
}

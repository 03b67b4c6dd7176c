// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What a field of a job may hold: how it is written in a file, and its normal form.
enum FieldKind: Sendable {
    /// Text of a schedule, which the schedule's parser reads.
    case text
    /// An absolute path.
    case path
    /// A list is run as given; a string is a line for `/bin/sh -c`.
    case command
    /// A list in which order does not count.
    case tags
    case variables
    case json
    case flag
    case number(ClosedRange<Int>)
    case statuses
    case word([String])
    case date
    case span(from: TimeSpan)
    case backoff
    case bytes
    case octal
}

extension FieldKind {
    /// What is accepted, in the words of a message.
    var accepted: String {
        switch self {
        case .text: "text"
        case .path: "an absolute path"
        case .command: "a list such as [curl, -fsS, http://localhost/], or a line for /bin/sh -c"
        case .tags: "a list of tags"
        case .variables: "a map of names to text"
        case .json: "any value"
        case .flag: "true or false"
        case .number(let range):
            range.upperBound == .max
                ? "a number from \(range.lowerBound)"
                : "a number from \(range.lowerBound) to \(range.upperBound)"
        case .statuses: "a list of exit statuses, 0 to 255"
        case .word(let words):
            words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
        case .date: "a date such as '2026-12-31 18:00'"
        case .span(let least):
            "a duration of \(least) to 100 years, such as '90s' or '1h 30min'"
        case .backoff: "D or D..MAX, such as 10s..5min, with MAX not below D"
        case .bytes: "a number of bytes, or with K, M, G or T: 512M"
        case .octal: "an octal number from 0 to 777"
        }
    }

    /// The file's value as it is sent to the daemon; nil if it is not accepted.
    ///
    /// - Throws: a `Mistake` inside of it.
    func read(_ value: YAMLValue) throws(Mistake) -> JSONValue? {
        switch self {
        case .json: return try value.json
        case .text, .date, .word, .span, .backoff, .bytes, .octal:
            guard let text = value.text, normal(.string(text)) != nil else { return nil }
            return .string(text)
        case .path: return value.text.flatMap { $0.hasPrefix("/") ? .string($0) : nil }
        case .command:
            if let line = value.text {
                return line.isEmpty ? nil : .array(["/bin/sh", "-c", line].map { .string($0) })
            }
            guard let words = texts(value), words.first?.isEmpty == false else { return nil }
            return .array(words.map { .string($0) })
        case .tags: return texts(value).map { .array($0.map { .string($0) }) }
        case .variables:
            guard case .map(let members) = value.content else { return nil }
            var object: [String: JSONValue] = [:]
            for (key, value) in members {
                guard let name = key.text, let text = value.text else {
                    throw Mistake(
                        place: value.place,
                        message: "variable \(key.kind) is \(value.kind), accepted is text"
                    )
                }
                object[name] = .string(text)
            }
            return .object(object)
        case .flag:
            guard case .bool(let flag) = try value.json else { return nil }
            return .bool(flag)
        case .number(let range):
            guard case .integer(let number) = try value.json, range ~= Int(number) else {
                return nil
            }
            return .integer(number)
        case .statuses:
            guard case .array(let codes) = try value.json, !codes.isEmpty else { return nil }
            for code in codes {
                guard case .integer(0...255) = code else { return nil }
            }
            return .array(codes)
        }
    }

    private func texts(_ value: YAMLValue) -> [String]? {
        guard case .list(let elements) = value.content else { return nil }
        let texts = elements.compactMap(\.text)
        return texts.count == elements.count ? texts : nil
    }

    /// The normal form of a value of the wire, equal for values that mean the same; nil if it means nothing.
    func normal(_ value: JSONValue) -> JSONValue? {
        guard case .string(let text) = value else {
            switch (self, value) {
            case (.tags, .array(let tags)):
                let texts = Set(tags.map(\.jsonText)).sorted()
                return texts.isEmpty ? nil : .array(texts.map { .string($0) })
            case (.statuses, .array(let codes)):
                return .array(Array(Set(codes)).sorted { $0.jsonText < $1.jsonText })
            // Compared by its meaning; try?: by its text if that cannot be read.
            case (.json, .verbatim(let text)): return (try? text.parsed()) ?? value
            default: return value
            }
        }
        switch self {
        case .word(let words): return words.contains(text) ? value : nil
        case .span(let least):
            return span(text).flatMap { $0 >= least ? .string($0.description) : nil }
        case .backoff: return backoff(text)
        case .bytes: return bytes(text).map { .integer($0) }
        case .octal:
            guard text.utf8.allSatisfy({ (0x30...0x37).contains($0) }),
                let mask = Int64(text, radix: 8),
                mask <= 0o777
            else { return nil }
            return .integer(mask)
        default: return value
        }
    }

    private func span(_ text: String) -> TimeSpan? {
        // try?: nil is enough, as `accepted` says what the kind takes.
        guard let span = try? TimeSpan(parsing: text), span <= .longestInterval else { return nil }
        return span
    }

    private func backoff(_ text: String) -> JSONValue? {
        guard let dots = text.firstRange(of: "..") else {
            guard let first = span(text) else { return nil }
            return .string("\(first)..\(max(first, .seconds(3600)))")
        }
        guard let first = span(String(text[..<dots.lowerBound])),
            let last = span(String(text[dots.upperBound...])), first <= last
        else { return nil }
        return .string("\(first)..\(last)")
    }

    private func bytes(_ text: String) -> Int64? {
        let shifts: [Character: Int64] = ["K": 10, "M": 20, "G": 30, "T": 40]
        let shift = text.last.flatMap { shifts[$0] } ?? 0
        let digits = shift == 0 ? text[...] : text.dropLast()
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(digits),
            number > 0, number <= Int64.max >> shift
        else { return nil }
        return number << shift
    }
}

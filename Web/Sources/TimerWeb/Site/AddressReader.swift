// SPDX-License-Identifier: Apache-2.0

import HTML
import HTTPTypes
import TimerControl

/// Reads what an address asks for, and notes what means nothing.
///
/// What cannot be read is no reason to show all: whoever asked for some of it would take all for that, and act on it.
struct AddressReader {
    private let fields: [Link.Field]
    /// Sentences without a full stop.
    private(set) var mistakes: [String] = []

    /// `names`: of the fields that may be said once alone, and at no great length.
    init(_ fields: [Link.Field], once names: [String]) {
        self.fields = fields
        for name in names {
            if let long = fields.first(where: {
                $0.name == name && $0.value.utf8.count > Limits.words
            }) {
                mistakes.append(
                    "'\(name)' has \(long.value.utf8.count) bytes; at most \(Limits.words) are accepted"
                )
                continue
            }
            let values = fields.filter { $0.name == name && !$0.value.isEmpty }.map(\.value)
            guard Set(values).count > 1 else { continue }
            mistakes.append(
                "'\(name)' is said \(values.count) times: \(values.joined(separator: ", ")); one is accepted"
            )
        }
    }

    /// The text of a field; nil where it is not there, or empty.
    func text(_ name: String) -> String? {
        fields.first { $0.name == name && !$0.value.isEmpty }?.value
    }

    /// What a field means, which is one of some words.
    mutating func word<Value>(
        _ name: String,
        _ kind: String,
        of accepted: [String],
        _ read: (String) -> Value?
    ) -> Value? {
        guard let text = text(name) else { return nil }
        if let value = read(text) { return value }
        mistakes.append(
            "'\(text)' is no \(kind); it is one of \(accepted.joined(separator: ", "))"
        )
        return nil
    }

    /// What a field means that is `expected`.
    mutating func value<Value>(
        _ name: String,
        expected: String,
        _ read: (String) -> Value?
    ) -> Value? {
        guard let text = text(name) else { return nil }
        if let value = read(text) { return value }
        mistakes.append("'\(name)' is '\(text)', expected \(expected)")
        return nil
    }

    /// Whether a field is set, as our own links set it; nil where it is not there.
    mutating func flag(_ name: String) -> Bool? {
        value(name, expected: "1") { $0 == "1" ? true : nil }
    }

    /// Where the page of a list begins.
    mutating func cursor<Value>(_ read: (String) -> Value?) -> Value? {
        guard let text = text("cursor") else { return nil }
        if let value = read(text) { return value }
        mistakes.append(
            "no page of the list begins at '\(text)'; leave 'cursor' out for the first one"
        )
        return nil
    }
}

extension Visit {
    /// Which of a run's two streams an address asks for; nil for both.
    func chosenStream() throws(ControlError) -> StandardStream? {
        var address = AddressReader(link.query, once: ["stream"])
        let names = StandardStream.allCases.map(\.rawValue)
        let stream = address.word("stream", "stream", of: names, StandardStream.init)
        if let mistake = address.mistakes.first { throw ControlError(.invalidParams, mistake) }
        return stream
    }
}

extension ControlError {
    /// Whether the daemon refuses what an address asks for: that is told on its page, beside what it was asked with.
    var isOfAddress: Bool { reason == .invalidParams || reason == .notPermitted }
}

extension [String] {
    /// Of a page that tells these mistakes.
    var status: HTTPResponse.Status { isEmpty ? .ok : .badRequest }
}

extension Parts {
    /// What is said in place of a list whose address means nothing.
    func mistaken(_ mistakes: [String], all: Link) -> Node {
        group {
            for mistake in mistakes { p(.class("conflict")) { mistake.asSentence } }
            p(.class("empty")) {
                "Nothing is shown for that. "
                a(.href(all)) { "Show all" }
                "."
            }
        }
    }
}

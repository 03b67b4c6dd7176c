// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Reads the one document of a file.
struct YAMLReader: ~Copyable {
    /// Lists and maps inside each other, aliases followed: whoever reads the value calls itself for each.
    private static let deepest = 1000

    private var parser: YAMLParser
    private var anchors: [String: Anchored] = [:]
    /// How many more values may be read: an alias repeats its value, and with aliases of aliases a few lines
    /// would fill the memory of any machine.
    private var room = 1_000_000

    /// A value that aliases may stand for.
    private struct Anchored {
        var value: YAMLValue
        /// How many values it consists of.
        var count: Int
        /// How many lists and maps are inside each other.
        var height: Int
    }

    private init(_ text: String, file: String) throws(Mistake) {
        parser = try YAMLParser(text, file: file)
    }

    /// Reads the value; nil for a file without one.
    ///
    /// - Throws: the `Mistake` that keeps it from being YAML.
    static func value(of text: String, file: String) throws(Mistake) -> YAMLValue? {
        var reader = try Self(text, file: file)
        _ = try reader.parser.next()  // the start of the stream
        guard try reader.parser.next().kind == .documentStart else { return nil }
        let (value, _) = try reader.value(try reader.parser.next(), depth: 0)
        _ = try reader.parser.next()  // the end of the document
        let end = try reader.parser.next()
        guard end.kind == .streamEnd else {
            throw Mistake(
                place: end.place,
                message: "not YAML: expected a single document in the stream (line 1): "
                    + "but found another document"
            )
        }
        return value
    }

    /// Reads on to the end of the value that an event begins.
    private mutating func value(
        _ event: YAMLEvent,
        depth: Int
    ) throws(Mistake) -> (value: YAMLValue, height: Int) {
        if case .alias(let name) = event.kind { return try alias(name, event.place, depth: depth) }
        let before = room
        try take(1, at: event.place)
        var value = YAMLValue(place: event.place, content: .list([]))
        var height = 0
        let name: String?
        switch event.kind {
        case .listStart(let anchor):
            name = anchor
            (value.content, height) = try list(at: event.place, depth: depth + 1)
        case .mapStart(let anchor):
            name = anchor
            (value.content, height) = try map(at: event.place, depth: depth + 1)
        case .scalar(let text, let isPlain, let anchor):
            name = anchor
            value.content = .scalar(text, isPlain: isPlain)
        // libyaml has checked the grammar: where a value is due, one begins.
        default: preconditionFailure("a value begins with \(event.kind)")
        }
        // Known from its end on: an alias inside it cannot stand for it.
        if let name {
            anchors[name] = Anchored(value: value, count: before - room, height: height)
        }
        return (value, height)
    }

    private mutating func alias(
        _ name: String,
        _ place: Place,
        depth: Int
    ) throws(Mistake) -> (value: YAMLValue, height: Int) {
        guard let anchored = anchors[name] else {
            throw Mistake(place: place, message: "not YAML: found undefined alias")
        }
        try take(anchored.count, at: place)
        try descend(to: depth + anchored.height, at: place)
        return (anchored.value, anchored.height)
    }

    private mutating func list(
        at place: Place,
        depth: Int
    ) throws(Mistake) -> (YAMLValue.Content, height: Int) {
        try descend(to: depth, at: place)
        var elements: [YAMLValue] = []
        var height = 0
        while true {
            let event = try parser.next()
            if event.kind == .listEnd { return (.list(elements), height + 1) }
            let element = try value(event, depth: depth)
            elements.append(element.value)
            height = max(height, element.height)
        }
    }

    private mutating func map(
        at place: Place,
        depth: Int
    ) throws(Mistake) -> (YAMLValue.Content, height: Int) {
        try descend(to: depth, at: place)
        var members: [(key: YAMLValue, value: YAMLValue)] = []
        var height = 0
        while true {
            let event = try parser.next()
            if event.kind == .mapEnd { break }
            let key = try value(event, depth: depth)
            let value = try value(try parser.next(), depth: depth)
            members.append((key.value, value.value))
            height = max(height, key.height, value.height)
        }
        try Self.checkNames(members.lazy.map(\.key))
        return (.map(members), height + 1)
    }

    private mutating func take(_ count: Int, at place: Place) throws(Mistake) {
        room -= count
        guard room > 0 else {
            throw Mistake(place: place, message: "with all its aliases the file is too large")
        }
    }

    private func descend(to depth: Int, at place: Place) throws(Mistake) {
        guard depth <= Self.deepest else {
            throw Mistake(
                place: place,
                message: "more than \(Self.deepest) lists and maps are inside each other"
            )
        }
    }

    /// Refuses names that are given twice; what is no name is refused by whoever wants one.
    private static func checkNames(_ keys: some Sequence<YAMLValue>) throws(Mistake) {
        var first: [String: Place] = [:]
        var mistakes: [Mistake] = []
        for key in keys {
            guard let name = key.text else { continue }
            guard let place = first[name] else {
                first[name] = key.place
                continue
            }
            mistakes.append(
                Mistake(
                    place: key.place,
                    message: "'\(name)' is given twice, first in line \(place.line), "
                        + "column \(place.column)"
                )
            )
        }
        guard let mistake = mistakes.first else { return }
        let messages = mistakes.map(\.message).joined(separator: "; ")
        throw Mistake(place: mistake.place, message: messages)
    }
}

// SPDX-License-Identifier: Apache-2.0

import CYAML
import TimerControl
import TimerWords

/// A step of a YAML text: a value, or where a list or a map begins or ends.
struct YAMLEvent {
    var place: Place
    var kind: Kind

    enum Kind: Equatable {
        case streamStart, streamEnd, documentStart, documentEnd
        case alias(of: String)
        /// `isPlain`: without quotes and not tagged as a string, so that it may be a number.
        case scalar(String, isPlain: Bool, anchor: String?)
        case listStart(anchor: String?)
        case listEnd
        case mapStart(anchor: String?)
        case mapEnd
    }
}

/// Reads a YAML text step by step, with libyaml.
struct YAMLParser: ~Copyable {
    private let file: String
    /// libyaml keeps pointers to the text and to its parser, so neither of them moves.
    private let text: UnsafeMutableBufferPointer<UInt8>
    private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)

    init(_ text: String, file: String) throws(Mistake) {
        self.file = file
        let bytes = Self.withJoinedPairs(text)
        self.text = .allocate(capacity: bytes.count)
        _ = self.text.initialize(from: bytes)
        parser.initialize(to: yaml_parser_t())
        guard yaml_parser_initialize(parser) == 1 else { throw mistake }
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, self.text.baseAddress, bytes.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
        text.deallocate()
    }

    /// Reads the next step; after `streamEnd` there is none.
    ///
    /// - Throws: the `Mistake` that keeps the text from being YAML, or a tag that would have to mean something.
    mutating func next() throws(Mistake) -> YAMLEvent {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw mistake }
        defer { yaml_event_delete(&event) }
        let place = place(event.start_mark)
        if let tag = Self.foreignTag(event) {
            throw Mistake(
                place: place,
                message: "the tag '\(tag)' is not accepted here, "
                    + "accepted are those of YAML's core schema, such as '!!str'"
            )
        }
        return YAMLEvent(place: place, kind: Self.kind(event))
    }

    /// A tag that the core schema of YAML 1.2 does not have for such a value, as it is written: "!include".
    private static func foreignTag(_ event: yaml_event_t) -> String? {
        let (tag, known): (UnsafeMutablePointer<yaml_char_t>?, [String]) =
            switch event.type {
            case YAML_SCALAR_EVENT:
                (
                    event.data.scalar.tag,
                    [YAML_STR_TAG, YAML_NULL_TAG, YAML_BOOL_TAG, YAML_INT_TAG, YAML_FLOAT_TAG]
                )
            case YAML_SEQUENCE_START_EVENT: (event.data.sequence_start.tag, [YAML_SEQ_TAG])
            case YAML_MAPPING_START_EVENT: (event.data.mapping_start.tag, [YAML_MAP_TAG])
            default: (nil, [])
            }
        // "!" alone stands for no tag.
        guard let text = string(tag), text != "!", !known.contains(text) else { return nil }
        let prefix = "tag:yaml.org,2002:"
        return text.hasPrefix(prefix) ? "!!" + text.dropFirst(prefix.count) : text
    }

    private static func kind(_ event: yaml_event_t) -> YAMLEvent.Kind {
        let data = event.data
        switch event.type {
        case YAML_STREAM_START_EVENT: return .streamStart
        case YAML_DOCUMENT_START_EVENT: return .documentStart
        case YAML_DOCUMENT_END_EVENT: return .documentEnd
        case YAML_ALIAS_EVENT: return .alias(of: string(data.alias.anchor) ?? "")
        case YAML_SCALAR_EVENT:
            let scalar = data.scalar
            let bytes = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            return .scalar(
                String(decoding: bytes, as: UTF8.self),
                isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE
                    && string(scalar.tag) != YAML_STR_TAG,
                anchor: string(scalar.anchor)
            )
        case YAML_SEQUENCE_START_EVENT:
            return .listStart(anchor: string(data.sequence_start.anchor))
        case YAML_SEQUENCE_END_EVENT: return .listEnd
        case YAML_MAPPING_START_EVENT: return .mapStart(anchor: string(data.mapping_start.anchor))
        case YAML_MAPPING_END_EVENT: return .mapEnd
        // What libyaml answers once its stream has ended.
        default: return .streamEnd
        }
    }

    private static func string(_ bytes: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        bytes.map { String(cString: $0) }
    }

    /// The text; of JSON, which may write a character beyond U+FFFF as two escapes, one that libyaml reads.
    ///
    /// It has that character, and behind its string as many blanks as leave all that follows in its place.
    private static func withJoinedPairs(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        // try?: what is no JSON is libyaml's to read, or to refuse.
        guard text.contains(#"\uD"#) || text.contains(#"\ud"#),
            (try? JSONValue(parsing: bytes)) != nil
        else { return bytes }
        let backslash = UInt8(ascii: "\\")
        let quote = UInt8(ascii: "\"")
        var result: [UInt8] = []
        var (isString, blanks) = (false, 0)
        var rest = bytes[...]
        while let byte = rest.first {
            if byte == backslash, let character = pair(rest.prefix(lengthOfPair)) {
                result += Array(character.utf8)
                blanks += lengthOfPair - 1
                rest = rest.dropFirst(lengthOfPair)
                continue
            }
            let part = rest.prefix(byte == backslash ? 2 : 1)
            result += part
            rest = rest.dropFirst(part.count)
            guard byte == quote else { continue }
            isString.toggle()
            if !isString {
                result += Array(repeating: UInt8(ascii: " "), count: blanks)
                blanks = 0
            }
        }
        return result
    }

    private static let lengthOfPair = 12

    /// The character of two escapes such as "\ud83d\ude00"; nil for anything else.
    private static func pair(_ escapes: ArraySlice<UInt8>) -> String? {
        func half(_ escape: ArraySlice<UInt8>, in range: ClosedRange<UInt32>) -> UInt32? {
            let text = String(decoding: escape, as: UTF8.self)
            guard text.hasPrefix(#"\u"#), let code = UInt32(text.dropFirst(2), radix: 16) else {
                return nil
            }
            return range.contains(code) ? code : nil
        }
        guard let high = half(escapes.prefix(lengthOfPair / 2), in: 0xD800...0xDBFF),
            let low = half(escapes.dropFirst(lengthOfPair / 2), in: 0xDC00...0xDFFF)
        else { return nil }
        return Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)).map { "\($0)" }
    }

    private func place(_ mark: yaml_mark_t) -> Place {
        Place(file: file, line: mark.line + 1, column: mark.column + 1)
    }

    /// What libyaml says is wrong with the text.
    private var mistake: Mistake {
        let parser = parser.pointee
        let problem = parser.problem.map { String(cString: $0) } ?? "there is no memory to read it"
        if parser.error == YAML_READER_ERROR {
            return Mistake(place: place(at: parser.problem_offset), message: "not YAML: \(problem)")
        }
        var before = ""
        if let context = parser.context {
            let words = String(cString: context).trimmed
            before = "\(words) (line \(parser.context_mark.line + 1)): "
        }
        return Mistake(
            place: place(parser.problem_mark),
            message: "not YAML: \(before)\(problem)"
        )
    }

    /// The place of a byte; a column is a Unicode scalar, as in libyaml's marks.
    private func place(at offset: Int) -> Place {
        var (line, column) = (1, 1)
        for byte in text.prefix(offset) {
            if byte == UInt8(ascii: "\n") {
                (line, column) = (line + 1, 1)
            } else if byte & 0xc0 != 0x80 {
                column += 1
            }
        }
        return Place(file: file, line: line, column: column)
    }
}

extension String {
    /// The text without blanks at its end, as libyaml's messages have them.
    fileprivate var trimmed: Substring {
        var rest = self[...]
        while rest.last == " " { rest.removeLast() }
        return rest
    }
}

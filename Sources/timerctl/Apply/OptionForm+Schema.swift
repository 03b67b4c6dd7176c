// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What an editor knows of an option's values: it judges them as `apply` does.
///
/// A test holds both together; it lists what only `apply` sees: what words mean, and the bytes of text that is not ASCII.
extension OptionForm {
    var schema: JSONValue {
        switch self {
        case .label: return SchemaPart.label(upTo: Limits.name)
        case .labels:
            let tag = SchemaPart.label(upTo: Limits.name, not: Label.prefix)
            return ["type": "array", "maxItems": .size(Limits.tags), "items": tag]
        case .expression, .zone, .date:
            return ["type": "string", "minLength": 1, "maxLength": .size(Limits.words)]
        case .path: return SchemaPart.path(after: "")
        case .files:
            let file = SchemaPart.path(after: "-?")
            return ["type": "array", "maxItems": .size(Limits.files), "items": file]
        case .credentials:
            let name = "(?!\\.{1,2}(:|$))[!-.0-9;-~]{1,\(Limits.name)}"
            let credential: JSONValue = [
                "type": SchemaPart.text, "pattern": .string("^\(name)(:\(SchemaPart.file))?$"),
            ]
            return ["type": "array", "maxItems": .size(Limits.credentials), "items": credential]
        case .command: return SchemaPart.command
        case .places:
            // 'none' stands alone.
            let place: JSONValue = [
                "type": "string", "maxLength": .size(Limits.place),
                "pattern": .string(SchemaPart.place),
            ]
            let places: JSONValue = [
                "type": "array", "maxItems": .size(Limits.places), "items": place,
            ]
            return ["oneOf": [places, ["enum": [["none"]]]]]
        case .words(let words):
            return ["type": "array", "items": ["enum": .array(words.map { .string($0) })]]
        case .url:
            return [
                "type": "string", "maxLength": .size(Limits.place),
                "pattern": .string("^(\(SchemaPart.url))$"),
            ]
        case .environment:
            return [
                "type": "object", "maxProperties": .size(Limits.variables),
                "propertyNames": ["pattern": "^[^0-9=\\u0000][^=\\u0000]*$"],
                "additionalProperties": SchemaPart.word,
            ]
        case .json: return [:]
        case .flag: return ["type": "boolean"]
        case .integer(let range):
            var schema: [String: JSONValue] = [
                "type": "integer", "minimum": .size(range.lowerBound),
            ]
            if range.upperBound < .max { schema["maximum"] = .size(range.upperBound) }
            return .object(schema)
        case .process: return ["type": "integer", "minimum": 1]
        case .exitCodes:
            return [
                "type": "array", "minItems": 1,
                "items": ["type": "integer", "minimum": 0, "maximum": 255],
            ]
        case .choice(let words): return ["enum": .array(words.map { .string($0) })]
        case .duration(let least): return SchemaPart.duration(from: least)
        case .backoff: return SchemaPart.duration(from: .zero)
        case .bytes(let range):
            let digits = range.lowerBound > 0 ? "0*[1-9][0-9]*" : "[0-9]+"
            var schema: [String: JSONValue] = [
                "type": ["string", "integer"], "pattern": .string("^\(digits)[KMGT]?$"),
                "minimum": .size(range.lowerBound),
            ]
            if range.upperBound < .max { schema["maximum"] = .size(range.upperBound) }
            return .object(schema)
        case .percent: return ["type": "string", "pattern": "^0*([1-9][0-9]{0,4}|100000)%$"]
        case .octal:
            // 022 without quotes is a number to an editor.
            return [
                "type": ["string", "integer"], "pattern": "^0*[0-7]{1,3}$",
                "minimum": 0, "maximum": 777,
            ]
        }
    }
}

/// What several options, names and labels share.
enum SchemaPart {
    /// Text without quotes may look like a number to an editor; apply takes it as it is written.
    static let text: JSONValue = ["string", "number", "boolean"]

    /// Text that a program can be given.
    static let word: JSONValue = ["type": text, "pattern": "^[^\\u0000]*$"]

    static let onOneLine = "[^\\u0000-\\u001f\\u007f-\\u009f]*$"

    static func label(
        upTo bytes: Int,
        not prefix: String? = nil,
        saying description: String? = nil
    ) -> JSONValue {
        let start = prefix.map { "(?!\($0))" } ?? ""
        var schema: [String: JSONValue] = [
            "type": text, "minLength": 1, "maxLength": .size(bytes),
            "pattern": .string("^\(start)\(onOneLine)"),
        ]
        schema["description"] = description.map { .string($0) }
        return .object(schema)
    }

    /// An absolute path; the limit counts a NUL after it.
    static let file = "/[^\\u0000]{0,\(Limits.path - 1)}"

    static func path(after start: String) -> JSONValue {
        ["type": "string", "pattern": .string("^\(start)\(file)$")]
    }

    static var command: JSONValue {
        let shell: [String] = .shell("")
        let line = Limits.command - shell.reduce(0) { $0 + $1.utf8.count + 1 }
        let program: JSONValue = ["type": text, "minLength": 1, "pattern": "^[^\\u0000]*$"]
        let alone: JSONValue = [
            "type": text, "minLength": 1, "maxLength": .size(line), "pattern": "^[^\\u0000]*$",
        ]
        let words: JSONValue = [
            "type": "array", "minItems": 1, "maxItems": .size(Limits.arguments),
            "prefixItems": [program], "items": word,
        ]
        return ["oneOf": [alone, words]]
    }

    /// Seconds as a number, or text that begins with one; not 0 where that is too short.
    static func duration(from least: TimeSpan) -> JSONValue {
        let some = least > .zero ? "(?=[^1-9]*[1-9])" : ""
        return [
            "type": ["string", "number"], "maxLength": .size(Limits.words),
            "pattern": .string("^\(some)\\s*[+]?\\.?[0-9]"),
            "minimum": seconds(least), "maximum": seconds(.longestInterval),
        ]
    }

    private static func seconds(_ span: TimeSpan) -> JSONValue {
        let (whole, rest) = span.microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return rest == 0 ? .integer(whole) : .number(span.inSeconds)
    }

    /// A URL of HTTP, or one as jobs are shown.
    static let url: String = {
        let host = "[A-Za-z0-9._%\\[\\]\\-][A-Za-z0-9.:_%\\[\\]\\-]*"
        let plain = "[hH][tT][tT][pP][sS]?://([!\"$-.0->@-~]*@)?\(host)([/?#][!-~]*)?"
        let shown = "[a-z0-9._%\\[\\]\\-][a-z0-9.:_%\\[\\]\\-]*/\\u2026(#[0-9a-f]{4})?"
        return "\(plain)|https?://\(shown)"
    }()

    /// Any place but 'none'.
    static let place: String = {
        let control = "\\u0000-\\u001f\\u007f-\\u009f"
        let some = "[^ <>()\\[\\]\"\\\\;:,\(control)]"
        let first = "[^ <>()\\[\\]\"\\\\;:,\\-\(control)]"
        let address = "\(first)\(some)*"
        let mail = "mail:\(address)(,\(address))*"
        return "^(mail|\(mail)|desktop|command: *[^ \(control)][^\(control)]*|\(url))$"
    }()
}

extension JSONValue {
    static func size(_ count: Int) -> Self { .integer(Int64(count)) }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerControl

/// The JSON schema (draft 2020-12) of the files that `timerctl apply` takes, made of `JobOption`.
enum JobsSchema {
    /// The path of the installed schema, relative to the program; nil if there is none.
    static var installed: String? {
        guard let resolved = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(resolved) }
        let program = String(cString: resolved)
        let parts = program.split(separator: "/").dropLast(2)
        let path = "/" + (parts + ["share", "timerd", "jobs.schema.json"]).joined(separator: "/")
        return access(path, R_OK) == 0 ? path : nil
    }

    /// Indented by two blanks a level, so that a diff can be read.
    static var text: String { pretty(value, indent: "") + "\n" }

    static var value: JSONValue {
        .object([
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Jobs of timerd, for 'timerctl apply'",
            "type": "object",
            "required": ["jobs"],
            "additionalProperties": false,
            "properties": [
                "label": [
                    "type": "string", "minLength": 1, "maxLength": 247,
                    "description": "The jobs that carry it are compared with these, and no other.",
                ],
                "defaults": [
                    "description": "What each job of this file has that does not say otherwise.",
                    "type": ["object", "null"],
                    "additionalProperties": false,
                    "properties": .object(
                        Dictionary(
                            uniqueKeysWithValues: JobOption.inDefaults.map { option in
                                let path = "#/$defs/job/properties/\(option.rawValue)"
                                return (option.rawValue, ["$ref": .string(path)])
                            }
                        )
                    ),
                ],
                "jobs": [
                    "description": "Jobs by name.",
                    "type": ["object", "null"],
                    "propertyNames": ["minLength": 1, "maxLength": 255],
                    "additionalProperties": ["$ref": "#/$defs/job"],
                ],
            ],
            "$defs": ["job": job],
        ])
    }

    private static var job: JSONValue {
        var properties: [String: JSONValue] = [:]
        for option in JobOption.inFiles {
            guard case .object(var schema) = option.form.schema else { continue }
            schema["description"] = .string(option.meaningInFile)
            schema["default"] = option.standardInFile.map { JSONValue($0) }
            properties[option.rawValue] = .object(schema)
        }
        return .object([
            "type": "object",
            "additionalProperties": false,
            "properties": .object(properties),
            "oneOf": .array(
                ["every", "at", "cron", "calendar"].map { ["required": [.string($0)]] }
            ),
            "dependentRequired": ["from": ["every"]],
        ])
    }

    private static func pretty(_ value: JSONValue, indent: String) -> String {
        let inner = indent + "  "
        switch value {
        case .object(let members) where !members.isEmpty:
            let lines = members.sorted { $0.key < $1.key }.map { key, value in
                "\(inner)\(JSONValue.string(key).jsonText): \(pretty(value, indent: inner))"
            }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(indent)}"
        default: return value.jsonText
        }
    }
}

extension OptionForm {
    fileprivate var schema: JSONValue {
        // Text without quotes may look like a number to an editor; apply takes it as it is written.
        let text: JSONValue = ["type": ["string", "number", "boolean"]]
        let words: JSONValue = ["type": "array", "items": text]
        switch self {
        case .label, .expression, .zone, .date: return ["type": "string", "minLength": 1]
        case .path: return ["type": "string", "pattern": "^/"]
        case .files:
            return ["type": "array", "items": ["type": "string", "pattern": "^-?/"]]
        case .credentials:
            return [
                "type": "array", "maxItems": .integer(Int64(Limits.credentials)),
                "items": ["type": "string", "pattern": "^[!-.0-9;-~]{1,255}(:/.*)?$"],
            ]
        case .command:
            return [
                "oneOf": [
                    ["type": "string", "minLength": 1],
                    ["type": "array", "items": text, "minItems": 1],
                ]
            ]
        case .labels, .places: return words
        case .words(let words):
            return ["type": "array", "items": ["enum": .array(words.map { .string($0) })]]
        case .url: return ["type": "string", "pattern": "^https?://"]
        case .environment: return ["type": "object", "additionalProperties": text]
        case .json: return [:]
        case .flag: return ["type": "boolean"]
        case .integer(let range):
            var schema: [String: JSONValue] = [
                "type": "integer", "minimum": .integer(Int64(range.lowerBound)),
            ]
            if range.upperBound < .max { schema["maximum"] = .integer(Int64(range.upperBound)) }
            return .object(schema)
        case .process: return ["type": "integer", "minimum": 1]
        case .exitCodes:
            return [
                "type": "array", "minItems": 1,
                "items": ["type": "integer", "minimum": 0, "maximum": 255],
            ]
        case .choice(let words): return ["enum": .array(words.map { .string($0) })]
        case .duration, .backoff: return ["type": ["string", "number"]]
        case .bytes(let range):
            var schema: [String: JSONValue] = [
                "type": ["string", "integer"], "pattern": "^[0-9]+[KMGT]?$",
                "minimum": .integer(Int64(range.lowerBound)),
            ]
            if range.upperBound < .max { schema["maximum"] = .integer(Int64(range.upperBound)) }
            return .object(schema)
        case .percent: return ["type": "string", "pattern": "^[0-9]+%$"]
        case .octal: return ["type": ["string", "integer"], "pattern": "^[0-7]+$"]
        }
    }
}

// With literals the schema in the code looks like its JSON.
extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int64) { self = .integer(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .object(Dictionary(uniqueKeysWithValues: members))
    }
}

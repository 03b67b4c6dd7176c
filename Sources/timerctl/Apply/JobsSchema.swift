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
                "label": SchemaPart.label(
                    upTo: Label.longest,
                    saying: "The jobs that carry it are compared with these, and no other."
                ),
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
                    "propertyNames": [
                        "minLength": 1, "maxLength": .size(Limits.name),
                        "pattern": .string("^\(SchemaPart.onOneLine)"),
                    ],
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
            "not": ["anyOf": excluded],
        ])
    }

    /// What one job cannot have at once; all else that goes with something may have it from the defaults.
    private static let excluded: JSONValue = [
        ["required": ["command", "queue"]],
        ["required": ["output", "outputKept"], "properties": ["output": ["enum": ["none"]]]],
    ]

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

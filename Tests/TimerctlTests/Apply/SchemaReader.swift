// SPDX-License-Identifier: Apache-2.0

import Foundation
import TimerControl

/// Reads as much of JSON schema (draft 2020-12) as docs/jobs.schema.json says.
struct SchemaReader {
    let root: JSONValue

    /// - Throws: for a word of the schema that is not read here, so that none is passed over.
    func accepts(_ value: JSONValue) throws -> Bool { try accepts(value, by: root) }

    struct UnknownWord: Error { let word: String }

    private func accepts(_ value: JSONValue, by schema: JSONValue) throws -> Bool {
        if case .bool(let acceptsAll) = schema { return acceptsAll }
        guard case .object(let words) = schema else { throw UnknownWord(word: schema.jsonText) }
        for (word, argument) in words {
            guard try holds(word, argument, of: value, in: schema) else { return false }
        }
        return true
    }

    private func holds(
        _ word: String,
        _ argument: JSONValue,
        of value: JSONValue,
        in schema: JSONValue
    ) throws -> Bool {
        switch word {
        case "$schema", "$defs", "title", "description", "default": return true
        case "$ref": return try accepts(value, by: referred(argument))
        case "type": return elements(argument).contains { isOfType($0, value) }
        case "enum": return elements(argument).contains(value)
        case "not": return try !accepts(value, by: argument)
        case "anyOf": return try count(of: value, acceptedBy: argument) > 0
        case "oneOf": return try count(of: value, acceptedBy: argument) == 1
        case "minimum", "maximum":
            guard let given = number(value), let bound = number(argument) else { return true }
            return word == "minimum" ? given >= bound : given <= bound
        default: break
        }
        switch value {
        case .string(let text): return try holds(word, argument, ofText: text)
        case .array(let some): return try holds(word, argument, ofElements: some, in: schema)
        case .object(let members): return try holds(word, argument, ofMembers: members, in: schema)
        default: return try isKnown(word)
        }
    }

    private func holds(_ word: String, _ argument: JSONValue, ofText text: String) throws -> Bool {
        let limit = number(argument).map { Int($0) }
        switch (word, argument) {
        case ("minLength", _): return text.unicodeScalars.count >= limit ?? 0
        case ("maxLength", _): return text.unicodeScalars.count <= limit ?? 0
        case ("pattern", .string(let pattern)):
            // There `$` also stands before a line's end; the schema's words mean the end alone.
            let strict = pattern.hasSuffix("$") ? pattern.dropLast() + #"\z"# : pattern[...]
            let expression = try NSRegularExpression(pattern: String(strict))
            let all = NSRange(text.startIndex..., in: text)
            return expression.firstMatch(in: text, range: all) != nil
        default: return try isKnown(word)
        }
    }

    private func holds(
        _ word: String,
        _ argument: JSONValue,
        ofElements some: [JSONValue],
        in schema: JSONValue
    ) throws -> Bool {
        let limit = number(argument).map { Int($0) }
        let first = schema["prefixItems"].map(elements) ?? []
        switch word {
        case "minItems": return some.count >= limit ?? 0
        case "maxItems": return some.count <= limit ?? 0
        case "prefixItems":
            for (element, schema) in zip(some, first) {
                guard try accepts(element, by: schema) else { return false }
            }
            return true
        case "items":
            for element in some.dropFirst(first.count) {
                guard try accepts(element, by: argument) else { return false }
            }
            return true
        default: return try isKnown(word)
        }
    }

    private func holds(
        _ word: String,
        _ argument: JSONValue,
        ofMembers members: [String: JSONValue],
        in schema: JSONValue
    ) throws -> Bool {
        let names = Set(members.keys)
        switch (word, argument) {
        case ("maxProperties", _): return members.count <= number(argument).map { Int($0) } ?? 0
        case ("required", _): return Set(elements(argument).compactMap(text)).isSubset(of: names)
        case ("dependentRequired", .object(let needs)):
            return needs.allSatisfy { name, needed in
                members[name] == nil || Set(elements(needed).compactMap(text)).isSubset(of: names)
            }
        case ("properties", .object(let schemas)):
            for (name, schema) in schemas {
                guard let member = members[name] else { continue }
                guard try accepts(member, by: schema) else { return false }
            }
            return true
        case ("additionalProperties", _):
            for (name, member) in members where schema["properties"]?[name] == nil {
                guard try accepts(member, by: argument) else { return false }
            }
            return true
        case ("propertyNames", _):
            for name in names {
                guard try accepts(.string(name), by: argument) else { return false }
            }
            return true
        default: return try isKnown(word)
        }
    }

    /// True: a word for values of another type says nothing of this one.
    private func isKnown(_ word: String) throws -> Bool {
        let known = [
            "minLength", "maxLength", "pattern", "minItems", "maxItems", "prefixItems", "items",
            "maxProperties", "required", "dependentRequired", "properties", "additionalProperties",
            "propertyNames",
        ]
        guard known.contains(word) else { throw UnknownWord(word: word) }
        return true
    }

    private func count(of value: JSONValue, acceptedBy schemas: JSONValue) throws -> Int {
        var count = 0
        for schema in elements(schemas) {
            if try accepts(value, by: schema) { count += 1 }
        }
        return count
    }

    /// What "#/$defs/job" names.
    private func referred(_ argument: JSONValue) throws -> JSONValue {
        var schema: JSONValue? = root
        for name in (text(argument) ?? "").split(separator: "/").dropFirst() {
            schema = schema?[String(name)]
        }
        guard let schema else { throw UnknownWord(word: argument.jsonText) }
        return schema
    }

    private func isOfType(_ type: JSONValue, _ value: JSONValue) -> Bool {
        switch (text(type), value) {
        case ("null", .null), ("boolean", .bool), ("string", .string), ("array", .array),
            ("object", .object), ("number", .integer), ("number", .number), ("integer", .integer):
            true
        case ("integer", .number(let number)): number == number.rounded()
        default: false
        }
    }

    /// The elements of an array; of anything else that alone.
    private func elements(_ value: JSONValue) -> [JSONValue] {
        if case .array(let elements) = value { elements } else { [value] }
    }

    private func text(_ value: JSONValue) -> String? {
        if case .string(let text) = value { text } else { nil }
    }

    private func number(_ value: JSONValue) -> Double? {
        switch value {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules

/// The parameters of one request, or of one of several definitions in it, by name.
struct Parameters {
    /// Those that are given: null is as not given.
    let members: [String: JSONValue]
    /// The names of those that are null.
    private let nulls: Set<String>
    private let path: JSONPath

    /// Takes an object; the path to it is for error messages.
    init(_ value: JSONValue?, at path: JSONPath = .root) throws(ControlError) {
        self.path = path
        switch value {
        case .object(let members) where members.values.contains(.null):
            self.members = members.filter { $0.value != .null }
            nulls = Set(members.keys).subtracting(self.members.keys)
        case .object(let members): (self.members, nulls) = (members, [])
        case nil: (members, nulls) = ([:], [])
        // Only for all parameters of a request: an element of a list must not be null.
        case .null where path.isRoot: (members, nulls) = ([:], [])
        case let value?:
            throw path.isRoot
                ? ControlError(.invalidParams, "'params' is \(value.kind), expected an object")
                : .wrong(path.text, value.kind, "an object")
        }
    }

    /// Refuses a name that is none of `accepted`; those of `known` may be there too, as null.
    func checkNames(
        among accepted: Set<String>,
        orNull known: Set<String> = []
    ) throws(ControlError) {
        let given = members.keys.filter { !accepted.contains($0) }
        let null = nulls.filter { !accepted.contains($0) && !known.contains($0) }
        guard let unknown = (given + null).min() else { return }
        let name = JSONPath.key(path, unknown).text
        let hint = accepted.isEmpty ? "none is" : "\(quoted(accepted)) are"
        throw ControlError(.invalidParams, "there is no parameter '\(name)'; \(hint) accepted")
    }

    /// The one parameter of `fields` that is given.
    func onlyField(of fields: Set<String>) throws(ControlError) -> String {
        let given = fields.intersection(members.keys)
        guard let field = given.first, given.count == 1 else {
            let found = given.isEmpty ? "none is given" : "\(quoted(given)) are given"
            throw ControlError(
                .invalidParams,
                "expected exactly one of \(quoted(fields)); \(found)"
            )
        }
        return field
    }

    /// The parameter of that name; nil if it is missing or null.
    func optional<Value: Decodable>(
        _ type: Value.Type,
        _ name: String
    ) throws(ControlError) -> Value? {
        guard let value = members[name] else { return nil }
        return try Self.decoded(type, value, at: .key(path, name))
    }

    /// What a client says of things as it has seen them, so that nothing is done where they are others; nil if it is missing.
    ///
    /// - Throws: also for null: whoever sends it means to guard the request, and has lost what with.
    func guarding<Value: Decodable>(
        _ type: Value.Type,
        _ name: String
    ) throws(ControlError) -> Value? {
        try requireNotNull(name, "what it was when it was read, or no '\(name)' at all")
        return try optional(type, name)
    }

    /// Refuses null for a parameter without which the request would do something else.
    func requireNotNull(_ name: String, _ expected: String) throws(ControlError) {
        guard !nulls.contains(name) else { throw .wrong(place(of: name), "null", expected) }
    }

    func required<Value: Decodable>(
        _ type: Value.Type,
        _ name: String
    ) throws(ControlError) -> Value {
        guard let value = members[name] ?? (nulls.contains(name) ? JSONValue.null : nil) else {
            throw Self.missing(place(of: name))
        }
        return try Self.decoded(type, value, at: .key(path, name))
    }

    /// All parameters as one value.
    func decoded<Value: Decodable>(_ type: Value.Type) throws(ControlError) -> Value {
        let given = nulls.reduce(into: members) { $0[$1] = .null }
        return try Self.decoded(type, .object(given), at: path)
    }

    /// All parameters as one value, if all their names are among `fields`.
    func decoded<Value: Decodable>(
        _ type: Value.Type,
        fields: Set<String>
    ) throws(ControlError) -> Value {
        try checkNames(among: fields)
        return try decoded(type)
    }

    /// The definition that they are, beside those named `others`; checked.
    func definition(besides others: Set<String> = []) throws(ControlError) -> JobDefinition {
        if !nulls.isEmpty || JobDefinition.unknownField(in: members, besides: others) != nil {
            try checkNames(among: JobDefinition.fieldNames.union(others))
        }
        let definition = try decoded(JobDefinition.self)
        do throws(OptionRefusal) {
            try definition.check()
        } catch {
            throw ControlError(error, at: path.isRoot ? "" : "\(path.text).")
        }
        return definition
    }

    /// The path to the parameter of that name, for messages.
    func place(of name: String) -> String { JSONPath.key(path, name).text }

    static func missing(_ name: String) -> ControlError {
        ControlError(.invalidParams, "parameter '\(name)' is missing")
    }

    private static func decoded<Value: Decodable>(
        _ type: Value.Type,
        _ value: JSONValue,
        at path: JSONPath
    ) throws(ControlError) -> Value {
        do {
            return try JSONValueDecoder(value, at: path).decoded(type)
        } catch let error as JSONMismatch {
            guard let found = error.found else { throw missing(error.path) }
            throw .wrong(error.path, found, expectation(error))
        } catch let error as ScheduleError {
            // The schedule has an unknown field.
            throw ControlError(.badSchedule, error.message)
        } catch {
            throw ControlError(.invalidParams, "'params' cannot be read: \(error)")
        }
    }

    /// What was expected, with an example for words of a special form.
    private static func expectation(_ error: JSONMismatch) -> String {
        let field = error.path.split(separator: ".").last.map(String.init) ?? error.path
        switch field {
        case "schedule": return "\(error.expected) such as {\"every\": \"5s\"}"
        case "after", "fireDate": return JobOption.at.form.expectedJSON
        default:
            guard let word = JobOption(rawValue: field), error.path.hasSuffix(word.path),
                word.isOfSchedule
            else { return error.expected }
            return word.form.expectedJSON
        }
    }
}

extension JSONPath {
    fileprivate var isRoot: Bool {
        if case .root = self { true } else { false }
    }
}

// A path is put together where it is told.
func checkSize(
    _ size: Int,
    _ limit: Int,
    _ path: @autoclosure () -> String
) throws(ControlError) {
    try checkCount(size, limit, "bytes", path())
}

func checkCount(
    _ count: Int,
    _ limit: Int,
    _ things: String,
    _ path: @autoclosure () -> String
) throws(ControlError) {
    guard count <= limit else {
        throw ControlError(
            .limitReached,
            "parameter '\(path())' has \(count) \(things); at most \(limit) are accepted"
        )
    }
}

func checkRange(_ value: Int, _ range: ClosedRange<Int>, _ path: String) throws(ControlError) {
    guard range.contains(value) else {
        throw .wrong(path, "\(value)", OptionForm.integer(range).accepted)
    }
}

extension ControlError {
    /// A parameter that is not what it has to be.
    static func wrong(_ path: String, _ found: String, _ expected: String) -> Self {
        Self(.invalidParams, "parameter '\(path)' is \(found), expected \(expected)")
    }
}

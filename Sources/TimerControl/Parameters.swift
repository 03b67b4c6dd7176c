// SPDX-License-Identifier: Apache-2.0

import Schedules

/// The parameters of one request, or of one of several definitions in it, by name.
struct Parameters {
    let members: [String: JSONValue]
    private let path: JSONPath

    /// Takes an object; the path to it is for error messages.
    init(_ value: JSONValue?, at path: JSONPath = .root) throws(ControlError) {
        self.path = path
        switch value {
        case .object(let members): self.members = members
        case nil: members = [:]
        // Only for all parameters of a request: an element of a list must not be null.
        case .null where path.isRoot: members = [:]
        case let value?:
            throw path.isRoot
                ? ControlError(.invalidParams, "'params' is \(value.kind), expected an object")
                : .wrong(path.text, value.kind, "an object")
        }
    }

    /// Refuses a name that is none of `accepted`.
    func checkNames(among accepted: Set<String>) throws(ControlError) {
        guard let unknown = members.keys.filter({ !accepted.contains($0) }).min() else { return }
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
        guard let value = members[name], value != .null else { return nil }
        return try Self.decoded(type, value, at: .key(path, name))
    }

    func required<Value: Decodable>(
        _ type: Value.Type,
        _ name: String
    ) throws(ControlError) -> Value {
        guard let value = members[name] else { throw Self.missing(name) }
        return try Self.decoded(type, value, at: .key(path, name))
    }

    /// All parameters as one value.
    func decoded<Value: Decodable>(_ type: Value.Type) throws(ControlError) -> Value {
        try Self.decoded(type, .object(members), at: path)
    }

    /// All parameters as one value, if all their names are among `fields`.
    func decoded<Value: Decodable>(
        _ type: Value.Type,
        fields: Set<String>
    ) throws(ControlError) -> Value {
        try checkNames(among: fields)
        return try decoded(type)
    }

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
        return examples[field].map { "\(error.expected) such as \($0)" } ?? error.expected
    }

    private static let examples = [
        "after": "'2026-12-01T08:00:00Z'", "at": "'tomorrow 09:00'", "calendar": "'Mon 09:00'",
        "command": "[\"/bin/echo\", \"hello\"]", "cron": "'*/5 * * * *'", "every": "'5s'",
        "fireDate": "'tomorrow 09:00'", "from": "'09:00'", "in": "'30m'", "jitter": "'5min'",
        "misfireAfter": "'1min'",
        "misfireWindow": "'1h'", "schedule": "{\"every\": \"5s\"}", "tags": "[\"nightly\"]",
        "tolerance": "'500ms'", "tz": "'Europe/Berlin'", "until": "'2026-12-31 18:00'",
    ]
}

extension JSONPath {
    fileprivate var isRoot: Bool {
        if case .root = self { true } else { false }
    }
}

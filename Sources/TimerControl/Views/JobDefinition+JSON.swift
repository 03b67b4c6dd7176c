// SPDX-License-Identifier: Apache-2.0

package import Schedules

extension JobDefinition: Codable {
    /// Fields that are no option are left to who has the whole object.
    public init(from decoder: any Decoder) throws {
        let path = (decoder as? JSONValueDecoder)?.path ?? .root
        let value = try JSONValue(from: decoder)
        guard case .object(let members) = value.read else {
            throw JSONMismatch(path: path.text, found: value.kind, expected: "an object")
        }
        try self.init(members, at: path)
    }

    private init(_ members: [String: JSONValue], at path: JSONPath) throws {
        let schedulePath = JSONPath.key(path, "schedule")
        guard let schedule = members["schedule"] else {
            throw JSONMismatch(path: schedulePath.text, found: nil, expected: "a value")
        }
        var words = Words(
            schedule: try JSONValueDecoder(schedule, at: schedulePath).decoded(ScheduleWords.self)
        )
        // Members come in any order; of several mistakes the same one is told each time.
        var mistake: OptionRefusal?
        for (name, value) in members {
            if case .null = value { continue }
            guard let option = JobOption(field: name) else { continue }
            do throws(OptionRefusal) {
                try words.set(option, try option.value(of: value))
            } catch {
                if name <= mistake?.option.rawValue ?? name { mistake = error }
            }
        }
        if let mistake { throw JSONMismatch(mistake, at: path) }
        self.init(words)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: JSONKey.self)
        try container.encode(self.schedule, forKey: JSONKey(stringValue: "schedule"))
        for option in JobOption.fields {
            guard let value = self[option] else { continue }
            try container.encode(JSONValue(value), forKey: JSONKey(stringValue: option.rawValue))
        }
    }

    /// The first field, by name, that is none of a definition, and none of `others`.
    package static func unknownField(
        in members: [String: JSONValue],
        besides others: Set<String> = []
    ) -> String? {
        members.keys.filter {
            $0 != "schedule" && JobOption(field: $0) == nil && !others.contains($0)
        }.min()
    }

    /// A definition that cannot be read, as it is shown: without what is secret in its URLs.
    package static func masked(_ stored: JSONValue) -> JSONValue {
        guard case .object(var members) = stored else { return stored }
        for option in [JobOption.notify, .ping] {
            members[option.rawValue] = members[option.rawValue].map(shownPlaces)
        }
        return .object(members)
    }

    /// A URL, or places with some among them, as they are shown.
    package static func shownPlaces(_ value: JSONValue) -> JSONValue {
        switch value.read {
        case .string(let text): .string(reference(text))
        case .array(let values): .array(values.map(shownPlaces))
        default: value
        }
    }

    /// The names of all fields on the wire.
    static let fieldNames = Set(JobOption.fields.map(\.rawValue)).union(["schedule"])
}

extension JSONMismatch {
    /// `path` is that of the definition.
    fileprivate init(_ refusal: OptionRefusal, at path: JSONPath) {
        guard case .wrong(let found, let accepted) = refusal.problem else {
            self.init(path: path.text, found: refusal.description, expected: "a definition")
            return
        }
        let place = JSONPath.key(path, refusal.path)
        self.init(path: place.text, found: found, expected: accepted)
    }
}

extension ControlError {
    /// Words that cannot be read, or a zone that cannot be read now.
    package init(_ error: ScheduleError) {
        self.init(error.code == .unreadZone ? .limitReached : .badSchedule, error.message)
    }

    /// `path` says where the definition stands among the parameters, such as `jobs[3].`.
    package init(_ refusal: OptionRefusal, at path: String = "") {
        let reason: Reason =
            switch refusal.problem {
            case .wrong: .invalidParams
            case .tooMany: .limitReached
            case .unreadable(let error): ControlError(error).reason
            }
        self.init(reason, "parameter '\(path)\(refusal.path)'\(refusal.predicate)")
    }
}

extension JSONValue {
    package init(_ value: OptionValue) {
        self =
            switch value {
            case .text(let text): .string(text)
            case .texts(let texts): .array(texts.map { .string($0) })
            case .variables(let variables): .object(variables.mapValues { .string($0) })
            case .integer(let number): .integer(Int64(number))
            case .integers(let numbers): .array(numbers.map { .integer(Int64($0)) })
            case .flag(let flag): .bool(flag)
            case .json(let text): .verbatim(text)
            }
    }
}

extension JobOption {
    /// The value that JSON has for it.
    package func value(of json: JSONValue) throws(OptionRefusal) -> OptionValue {
        let shape = form.shape
        if shape == .json { return .json(JSONText(json)) }
        switch (shape, json.read) {
        case (.text, .string(let text)): return .text(text)
        case (.flag, .bool(let flag)): return .flag(flag)
        case (.texts, .array(let elements)):
            var texts: [String] = []
            texts.reserveCapacity(elements.count)
            for (index, element) in elements.enumerated() {
                texts.append(try text(element, at: .index(index)))
            }
            return .texts(texts)
        case (.variables, .object(let members)):
            var variables: [String: String] = [:]
            variables.reserveCapacity(members.count)
            for (name, value) in members { variables[name] = try text(value, at: .key(name)) }
            return .variables(variables)
        case (.integer, let value): return .integer(try integer(value, at: nil))
        case (.integers, .array(let elements)):
            var numbers: [Int] = []
            for (index, element) in elements.enumerated() {
                numbers.append(try integer(element, at: .index(index)))
            }
            return .integers(numbers)
        default: throw refusal(of: json.kind, expecting: form.expectedJSON)
        }
    }

    private func text(
        _ json: JSONValue,
        at part: OptionRefusal.Part
    ) throws(OptionRefusal) -> String {
        guard case .string(let text) = json.read else {
            throw refusal(of: json.kind, at: part, expecting: "a string")
        }
        return text
    }

    private func integer(
        _ json: JSONValue,
        at part: OptionRefusal.Part?
    ) throws(OptionRefusal) -> Int {
        switch json {
        case .integer(let number): return Int(number)
        // JSON does not tell 5.0 from 5.
        case .number(let number):
            if let integer = Int(exactly: number) { return integer }
            throw refusal(of: json.jsonText, at: part, expecting: "an integer of 64 bits")
        default: throw refusal(of: json.kind, at: part, expecting: "an integer")
        }
    }
}

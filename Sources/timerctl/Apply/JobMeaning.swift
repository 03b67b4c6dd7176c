// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// The fields of a job in their normal forms: equal for definitions that mean the same.
///
/// Label and pause are not part of it: they are compared on their own.
struct JobMeaning: Hashable {
    private(set) var fields: [String: JSONValue] = [:]

    init(_ definition: JobDefinition, now: Timestamp, zone: Zone) {
        let stated = definition.fields
        // try?: a schedule that cannot be read differs from all others.
        let words = try? definition.schedule.normalized(now: now, zone: zone)
        let schedule = words.map { JobDefinition(schedule: $0).fields } ?? stated
        for field in JobField.all where field.name != "paused" {
            guard let value = field.isSchedule ? schedule[field.name] : stated[field.name] else {
                continue
            }
            let normal = field.kind.normal(value) ?? value
            if normal != field.standard.flatMap(field.kind.normal) { fields[field.name] = normal }
        }
        // As an instant, whatever its offset was.
        if let until = definition.until, let date = Timestamp(rfc3339: until) {
            fields["until"] = .string(date.rfc3339)
        }
    }
}

extension Job {
    /// Its fields as a file has them.
    ///
    /// For a job that cannot be read, those that are stored; nil if that is no object.
    var stated: [String: JSONValue]? {
        guard let stored else { return definition.fields }
        guard case .object(var fields) = stored else { return nil }
        if case .object(let words)? = fields.removeValue(forKey: "schedule") {
            fields.merge(words) { $1 }
        }
        fields["name"] = nil
        return fields
    }
}

extension JobDefinition {
    /// Its fields as a file has them: those of the schedule among the others, and without the label.
    var fields: [String: JSONValue] {
        // try?: the wire types throw nothing.
        guard case .object(var fields)? = try? JSONValue(encoding: self) else { return [:] }
        if case .object(let words)? = fields.removeValue(forKey: "schedule") {
            fields.merge(words) { $1 }
        }
        let own = (tags ?? []).filter { !$0.hasPrefix(Label.prefix) }
        fields["tags"] = own.isEmpty ? nil : .array(own.map { .string($0) })
        fields["name"] = nil
        return fields
    }
}

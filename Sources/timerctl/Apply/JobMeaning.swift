// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What a job is, field by field, in the one form of all that mean the same.
///
/// Neither label nor pause are part of it: they are compared on their own.
struct JobMeaning: Hashable {
    private(set) var fields: [String: JSONValue] = [:]

    init(_ definition: JobDefinition, now: Timestamp, zone: Zone) {
        let stated = definition.fields
        // try?: words that mean nothing any more differ from all others.
        let words = try? definition.schedule.normalized(now: now, zone: zone)
        let schedule = words.map { JobDefinition(schedule: $0).fields } ?? stated
        for field in JobField.all where field.name != "paused" {
            guard let value = field.isSchedule ? schedule[field.name] : stated[field.name] else {
                continue
            }
            let normal = field.kind.normal(value) ?? value
            if normal != field.standard.flatMap(field.kind.normal) { fields[field.name] = normal }
        }
        // An instant, however it was written.
        if let until = definition.until, let date = Timestamp(rfc3339: until) {
            fields["until"] = .string(date.rfc3339)
        }
    }
}

extension Job {
    /// Its fields as a file has them, as they are stored where they cannot be read; nil where that is no
    /// definition at all.
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
    /// Its fields as a file has them: the schedule's words among the others, and no label.
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

// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Reads one job of a file, and finds all that is wrong in it.
struct JobReader {
    let name: String
    let place: Place
    let now: Timestamp
    /// Of dates that name no zone, where the job names none either.
    let zone: Zone
    private(set) var mistakes: [Mistake] = []

    init(name: String, place: Place, now: Timestamp, zone: Zone) {
        (self.name, self.place, self.now, self.zone) = (name, place, now, zone)
    }

    /// The job; nil where something is wrong with it.
    mutating func job(_ value: YAMLValue) -> DeclaredJob? {
        guard case .map(let members) = value.content else {
            complain(value.place, "job '\(name)' is \(value.kind), accepted is a map of its fields")
            return nil
        }
        var places: [String: Place] = [:]
        var fields: [String: JSONValue] = [:]
        var words: [String: JSONValue] = [:]
        for (key, value) in members {
            guard let field = field(key), let read = read(value, field) else { continue }
            places[field.name] = value.place
            if field.isSchedule { words[field.name] = read } else { fields[field.name] = read }
        }
        if !hasSchedule(members) { return nil }
        fields["schedule"] = .object(words)
        fields["name"] = .string(name)
        guard var definition = definition(.object(fields)) else { return nil }
        fixDates(of: &definition, places)
        return mistakes.isEmpty ? DeclaredJob(place: place, definition: definition) : nil
    }

    private static let kinds = ["every", "at", "cron", "calendar"]

    /// Whether one of its fields says when, however well.
    private mutating func hasSchedule(_ members: [(key: YAMLValue, value: YAMLValue)]) -> Bool {
        let given = members.compactMap(\.key.text).filter(Self.kinds.contains)
        if given.count == 1 { return true }
        // What it says instead has been complained of.
        guard !members.contains(where: { $0.key.text == "in" }) else { return false }
        let list = Self.kinds.map { "'\($0)'" }.joined(separator: ", ")
        let found = given.isEmpty ? "none" : given.map { "'\($0)'" }.joined(separator: " and ")
        complain(place, "job '\(name)' has \(found), accepted is exactly one of \(list)")
        return false
    }

    private mutating func complain(_ place: Place, _ message: String) {
        mistakes.append(Mistake(place: place, message: message))
    }

    private mutating func field(_ key: YAMLValue) -> JobField? {
        if let field = key.text.flatMap({ JobField.byName[$0] }) { return field }
        complain(key.place, unknown(key))
        return nil
    }

    private func unknown(_ key: YAMLValue) -> String {
        switch key.text {
        case "in":
            "'in' counts from when it is said, and a file says the same each time; "
                + "accepted are 'every', 'at', 'cron' and 'calendar'"
        case "schedule":
            "'schedule' has no place in a file; its words, such as 'every', stand in the job itself"
        case "name": "'name' has no place in a job; it is the key that the job stands under"
        case "shell": "'shell' is unknown; a 'command' that is text is a line for /bin/sh -c"
        case "whilePid", "whileConnected":
            "\(key.kind) has no place in a file; 'timerctl add' ties a job to what goes away"
        default:
            "\(key.kind) is unknown; a job has "
                + JobField.all.map(\.name).joined(separator: ", ")
        }
    }

    private mutating func read(_ value: YAMLValue, _ field: JobField) -> JSONValue? {
        do throws(Mistake) {
            if let read = try field.kind.read(value) {
                if field.name == "tags" { try checkTags(value) }
                return read
            }
            complain(
                value.place,
                "'\(field.name)' is \(value.kind), accepted is \(field.kind.accepted)"
            )
        } catch {
            mistakes.append(error)
        }
        return nil
    }

    private func checkTags(_ value: YAMLValue) throws(Mistake) {
        guard case .list(let tags) = value.content,
            let tag = tags.first(where: { $0.text?.hasPrefix(Label.prefix) == true })
        else { return }
        throw Mistake(
            place: tag.place,
            message: "the tag \(tag.kind) is a label, which 'label' and --label give to all jobs"
        )
    }

    private mutating func definition(_ fields: JSONValue) -> JobDefinition? {
        do {
            let definition: JobDefinition = try fields.decoded()
            try definition.check()
            return definition
        } catch let error as ControlError {
            complain(place, "job '\(name)': \(error.message)")
        } catch {
            complain(place, "job '\(name)': \(error)")
        }
        return nil
    }

    /// Checks the schedule, and turns dates into instants: the daemon may live in another zone.
    private mutating func fixDates(of definition: inout JobDefinition, _ places: [String: Place]) {
        let words = definition.schedule
        // The schedule itself was not accepted, and is told of.
        guard let kind = Self.kinds.first(where: { places[$0] != nil }) else { return }
        do throws(ScheduleError) {
            let zone =
                try words.tz.map { (tz) throws(ScheduleError) in try Zone(named: tz) } ?? zone
            _ = try words.resolve(now: now, zone: zone)
            definition.schedule.at = fixed(words.at, "at", places, zone)
            definition.schedule.from = fixed(words.from, "from", places, zone)
            definition.until = fixed(definition.until, "until", places, zone)
            if words.cron == nil, words.calendar == nil { definition.schedule.tz = nil }
            definition.schedule = definition.schedule.namingZone(zone)
        } catch {
            let field = error.code == .badZone ? "tz" : kind
            complain(places[field] ?? place, "job '\(name)': \(error.message)")
        }
    }

    /// The date as an instant, if it is the same one whenever it is read.
    private mutating func fixed(
        _ text: String?,
        _ field: String,
        _ places: [String: Place],
        _ zone: Zone
    ) -> String? {
        guard let text else { return nil }
        do throws(ScheduleError) {
            let date = try DateExpression.parse(text, now: now, zone: zone).date
            let later = try DateExpression.parse(text, now: now + .seconds(700_001), zone: zone)
                .date
            if date == later { return date.rfc3339 }
            complain(
                places[field] ?? place,
                "'\(field)' is '\(text)', another date each time it is read; "
                    + "accepted is one such as '2026-12-01 09:00'"
            )
        } catch {
            complain(places[field] ?? place, "'\(field)': \(error.message)")
        }
        return nil
    }
}

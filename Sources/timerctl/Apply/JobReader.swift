// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// Reads one job of a file, and finds all mistakes in it.
struct JobReader {
    let name: String
    let place: Place
    let now: Timestamp
    /// The zone of dates without one, in a job without one.
    let zone: Zone
    /// What counts where the job says nothing.
    var others: [JobOption: OptionValue] = [:]
    private(set) var mistakes: [Mistake] = []
    private var notes: [(place: Place, text: String)] = []

    init(name: String, place: Place, now: Timestamp, zone: Zone) {
        (self.name, self.place, self.now, self.zone) = (name, place, now, zone)
    }

    /// The job; nil if there is a mistake in it.
    mutating func job(_ value: YAMLValue) -> DeclaredJob? {
        guard case .map(let members) = value.content else {
            complain(value.place, "job '\(name)' is \(value.kind), accepted is a map of its fields")
            return nil
        }
        var definition = JobDefinition(schedule: ScheduleWords())
        definition.name = name
        var places: [JobOption: Place] = [:]
        for (key, value) in members {
            guard let option = option(key), read(value, option, into: &definition) else { continue }
            places[option] = value.place
        }
        if !hasSchedule(members) { return nil }
        addOthers(to: &definition, said: Set(members.compactMap(\.key.text)))
        do throws(OptionRefusal) {
            try JobOption.name.check(.text(name))
            try definition.checkNeeds()
        } catch {
            complain(places[error.option] ?? place, "job '\(name)': \(error)")
        }
        fixDates(of: &definition, places)
        guard mistakes.isEmpty else { return nil }
        return DeclaredJob(place: place, definition: definition, notes: notes)
    }

    /// Adds what counts where the job says nothing, as far as it has an effect there: defaults for commands are none of
    /// a job without one, and what a job says of command and queue stands in the place of both.
    private func addOthers(to definition: inout JobDefinition, said: Set<String>) {
        let rivals: [JobOption: JobOption] = [.command: .queue, .queue: .command]
        for (option, value) in others
        where !said.contains(option.rawValue)
            && !(rivals[option].map { said.contains($0.rawValue) } ?? false)
        {
            // try?: it was set in the defaults before.
            try? definition.set(option, value)
        }
        _ = definition.leaveOutUnused(but: said)
    }

    /// What all jobs of a file have that do not say otherwise.
    mutating func defaults(_ value: YAMLValue) -> [JobOption: OptionValue] {
        if value.isNull { return [:] }
        guard case .map(let members) = value.content else {
            complain(
                value.place,
                "'defaults' is \(value.kind), accepted is a map of options of jobs"
            )
            return [:]
        }
        var definition = JobDefinition(schedule: ScheduleWords())
        var stated: [JobOption: OptionValue] = [:]
        for (key, value) in members {
            if let option = key.text.flatMap(JobOption.init(rawValue:)), option.isOfSchedule {
                complain(
                    key.place,
                    "'\(option)' has no place in 'defaults': each job has a schedule of its own"
                )
                continue
            }
            guard let option = option(key), read(value, option, into: &definition) else { continue }
            stated[option] = definition[option]
        }
        return stated
    }

    private static let kinds: [JobOption] = [.every, .at, .cron, .calendar]

    /// Whether exactly one field gives a schedule, readable or not.
    private mutating func hasSchedule(_ members: [(key: YAMLValue, value: YAMLValue)]) -> Bool {
        let given = members.compactMap { $0.key.text.flatMap(JobOption.init(rawValue:)) }
            .filter(Self.kinds.contains)
        if given.count == 1 { return true }
        // 'in' has been reported already.
        guard !members.contains(where: { $0.key.text == "in" }) else { return false }
        let list = Self.kinds.map { "'\($0)'" }.joined(separator: ", ")
        let found = given.isEmpty ? "none" : given.map { "'\($0)'" }.joined(separator: " and ")
        complain(place, "job '\(name)' has \(found), accepted is exactly one of \(list)")
        return false
    }

    private mutating func complain(_ place: Place, _ message: String) {
        mistakes.append(Mistake(place: place, message: message))
    }

    private mutating func option(_ key: YAMLValue) -> JobOption? {
        if let option = key.text.flatMap(JobOption.init(rawValue:)),
            JobOption.inFiles.contains(option)
        {
            return option
        }
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
            "\(key.kind) is unknown"
                + (key.text.flatMap(JobOption.nearest).map { ", perhaps '\($0)'" } ?? "")
                + "; a job has " + JobOption.inFiles.map(\.rawValue).joined(separator: ", ")
        }
    }

    /// Reads a value and states it; false where there is none, or something is wrong with it.
    private mutating func read(
        _ value: YAMLValue,
        _ option: JobOption,
        into definition: inout JobDefinition
    ) -> Bool {
        if option == .userInfo, value.isNull { return false }
        do throws(Mistake) {
            guard let stated = try option.value(of: value) else {
                throw Mistake(
                    place: value.place,
                    message:
                        "'\(option)' is \(option.found(value)), accepted is \(option.acceptedInFile)"
                )
            }
            if option == .tags { try checkTags(value) }
            try state(stated, option, in: &definition, at: value.place)
            return true
        } catch {
            mistakes.append(error)
            return false
        }
    }

    private func state(
        _ value: OptionValue,
        _ option: JobOption,
        in definition: inout JobDefinition,
        at place: Place
    ) throws(Mistake) {
        do throws(OptionRefusal) {
            try option.check(value)
            _ = try option.normal(value)
            try definition.set(option, value)
        } catch {
            var refusal = error
            if case .wrong(let found, option.form.accepted) = refusal.problem {
                refusal.problem = .wrong(found: found, accepted: option.acceptedInFile)
            }
            let reason = refusal.predicate(expecting: "accepted is")
            throw Mistake(place: place, message: "'\(option)\(refusal.place)'\(reason)")
        }
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

    /// Checks the schedule, and turns dates into instants: the daemon may live in another zone.
    private mutating func fixDates(of definition: inout JobDefinition, _ places: [JobOption: Place])
    {
        var words = definition.schedule
        // The schedule was not accepted, and has been reported.
        guard let kind = Self.kinds.first(where: { places[$0] != nil }) else { return }
        do throws(ScheduleError) {
            let zone =
                try words.tz.map { (tz) throws(ScheduleError) in try Zone(named: tz) } ?? zone
            // The zone of the last date alone, where an interval has no first one.
            if definition.until != nil, words.every != nil, words.from == nil { words.tz = nil }
            let dates = [(JobOption.at, words.at), (.from, words.from), (.until, definition.until)]
            let changing = dates.filter { isAnotherLater($0.1, zone) }
            for (option, text) in changing {
                complain(
                    places[option] ?? place,
                    "'\(option)' is '\(text ?? "")', another date each time it is read; "
                        + "accepted is one such as '2026-12-01 09:00'"
                )
            }
            guard changing.isEmpty else { return }
            _ = try words.resolve(now: now, zone: zone)
            definition.schedule.at = fixed(words.at, .at, places, zone)
            definition.schedule.from = fixed(words.from, .from, places, zone)
            definition.until = fixed(definition.until, .until, places, zone)
            if words.cron == nil, words.calendar == nil { definition.schedule.tz = nil }
            definition.schedule = definition.schedule.namingZone(zone)
        } catch {
            let option = [.badZone, .unreadZone].contains(error.code) ? .tz : kind
            complain(places[option] ?? place, "job '\(name)': \(error.message)")
        }
    }

    /// Whether the date depends on when it is read, as one does that is refused now and not at another time.
    private func isAnotherLater(_ text: String?, _ zone: Zone) -> Bool {
        guard let text else { return false }
        // In nine years and eight days each weekday has come, and each 29 February.
        let then = now + .seconds(9 * 366 * 86_400 + 700_001)
        // try?: what is none at either time is told by who reads it.
        let dates = [now, then].map { try? DateExpression.parse(text, now: $0, zone: zone).date }
        return dates[0] != dates[1]
    }

    /// The date as an instant.
    private mutating func fixed(
        _ text: String?,
        _ option: JobOption,
        _ places: [JobOption: Place],
        _ zone: Zone
    ) -> String? {
        guard let text else { return nil }
        do throws(ScheduleError) {
            let (date, note) = try DateExpression.parse(text, now: now, zone: zone)
            if let note { notes.append((places[option] ?? place, "'\(option)': \(note)")) }
            return date.rfc3339
        } catch {
            complain(places[option] ?? place, "'\(option)': \(error.message)")
        }
        return nil
    }
}

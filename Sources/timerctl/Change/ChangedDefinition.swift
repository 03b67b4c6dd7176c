// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Platform
import Schedules
import TimerControl
import TimerWords

/// What a job is to be: as it was, but for what the options of a command state; pure.
struct ChangedDefinition {
    var definition: JobDefinition
    /// Remarks on dates, and on what was not there to be taken away, for the user.
    var notes: [String]
    /// Whether that is anything else than what it was.
    var isAnother: Bool

    /// - Throws: for options that do not go together, and where nothing is stated.
    init(
        of old: JobDefinition,
        _ schedule: ScheduleOptions,
        _ options: JobOptions,
        unset: [JobOption],
        command: [String],
        now: Timestamp,
        local: Zone,
        script: JobScript? = nil
    ) throws {
        let until = options.general.until
        let completed = try Self.completed(schedule, old.schedule, until: until)
        let request = try options.request(
            completed ?? schedule,
            command: command,
            now: now,
            local: (completed ?? schedule).keepsZone(of: old.schedule) ?? local,
            script: script
        )
        notes = request.notes
        guard case .addJobs(let stated) = request.request, let new = stated.definitions.first,
            case .object(var fields) = try JSONValue(encoding: old),
            case .object(var changes) = try JSONValue(encoding: new)
        else { throw ValidationError("nothing is stated") }
        if completed == nil { changes["schedule"] = nil }
        for name in unset.map(\.rawValue) {
            guard changes[name] == nil else {
                throw ValidationError("'\(name)' is set and unset at once")
            }
            if fields.removeValue(forKey: name) == nil {
                notes.append("--unset \(name): the job has none of its own")
            }
        }
        // A worker does what is to be done, in place of a command, which takes its place as well; an event is for
        // whoever watches, in place of both.
        let isEvent = options.general.event
        if isEvent || new.queue != nil { fields[JobOption.command.rawValue] = nil }
        if isEvent || new.command != nil { fields[JobOption.queue.rawValue] = nil }
        guard !changes.isEmpty || !unset.isEmpty || isEvent else {
            throw ValidationError("say what is to change, in the options of 'add', or --unset")
        }
        fields.merge(changes) { $1 }
        definition = try JSONValue.object(fields).decoded()
        let kept = definition.keepOrigin(of: old)
        if unset.contains(.tags), !kept.isEmpty {
            notes.append("kept, as the job is found again by it: \(kept.joined(separator: ", "))")
        }
        let unused = definition.leaveOutUnused(but: Set(changes.keys))
        if !unused.isEmpty {
            let names = unused.joined(separator: ", ")
            notes.append("left out, as it has no effect any more: \(names)")
        }
        // By their bytes: to Swift texts of one meaning in Unicode are one.
        let (before, after) = (try JSONValue(encoding: old), try JSONValue(encoding: definition))
        isAnother = before.jsonBytes != after.jsonBytes
    }

    /// The schedule that is stated, completed from what was: `--tz` or `--from` alone changes that alone, and an
    /// interval keeps its first date.
    ///
    /// - Throws: where what is stated does not belong to what was.
    private static func completed(
        _ stated: ScheduleOptions,
        _ old: ScheduleWords,
        until: String?
    ) throws -> ScheduleOptions? {
        var schedule = stated
        let isStated =
            [stated.delay, stated.at, stated.every, stated.cron, stated.calendar]
            .contains { $0 != nil }
        if !isStated {
            guard stated.tz != nil || stated.from != nil else { return nil }
            let firesOnce = old.at != nil || old.in != nil
            // With an end the zone is that of the end.
            guard !firesOnce || until != nil && stated.from == nil else {
                throw ValidationError(
                    "a job that fires once has no --tz or --from alone; state its date with --at"
                )
            }
            (schedule.delay, schedule.at) = (old.in, old.at)
            (schedule.every, schedule.cron, schedule.calendar) = (old.every, old.cron, old.calendar)
            try schedule.check(until: until)
        }
        if schedule.every != nil, schedule.from == nil { schedule.from = old.from }
        return schedule
    }
}

extension JobDefinition {
    /// Has the tags that say where `other` came from as well, unless it states one of that kind itself; returns those.
    fileprivate mutating func keepOrigin(of other: Self) -> [String] {
        let stated = self.tags ?? []
        let kept = (other.tags ?? []).filter { tag in
            Origin.prefixes.contains { prefix in
                tag.hasPrefix(prefix) && !stated.contains { $0.hasPrefix(prefix) }
            }
        }
        if !kept.isEmpty { self.tags = stated + kept }
        return kept
    }
}

/// The tags that say what a job came from, and who looks for it there: 'apply', 'crontab' and 'import'.
enum Origin {
    static let prefixes = [Label.prefix, CrontabJobs.tagPrefix, "systemd:"]

    static func isTag(_ tag: String) -> Bool { prefixes.contains { tag.hasPrefix($0) } }
}

extension ScheduleOptions {
    /// The zone of `old`, where these words state none and go by that of the wall clock; else nil.
    fileprivate func keepsZone(of old: ScheduleWords) -> Zone? {
        guard tz == nil, let name = old.tz else { return nil }
        // try?: an unknown zone is the daemon's to refuse, with its reason.
        return try? Zone(named: name)
    }
}

extension JobOption {
    /// The option of that name, on the command line or in a file, where it can be taken away.
    ///
    /// - Throws: `ValidationError`.
    static func unsettable(_ argument: String) throws -> Self {
        let found = allCases.first { $0.rawValue == argument || $0.flag == argument }
        guard let found else {
            let near = Spelling.nearest(to: argument, among: allCases.map(\.rawValue))
            let hint = near.map { ", perhaps '\($0)'" } ?? ""
            let names = allCases.filter { !$0.isOfSchedule }.map(\.rawValue)
            throw ValidationError(
                "--unset '\(argument)' is no option of a job\(hint); accepted are "
                    + names.joined(separator: ", ")
            )
        }
        guard !found.isOfSchedule else {
            // These two alone are for dates that go by them, which the job may not have.
            let way =
                [.tz, .from].contains(found)
                ? "at, --every or --cron" : found.flag ?? found.rawValue
            throw ValidationError(
                "--unset '\(argument)' is of the schedule, and a job has a schedule; state another, such as with "
                    + "--\(way)"
            )
        }
        return found
    }
}

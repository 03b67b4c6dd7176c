// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl

/// What a job is to be: as it was, but for what the options of a command state; pure.
struct ChangedDefinition {
    var definition: JobDefinition
    /// Remarks on dates, for the user.
    var notes: [String]

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
        let completed = Self.completed(schedule, old.schedule)
        let request = try options.request(
            completed ?? schedule,
            command: command,
            now: now,
            local: completed?.keepsZone(of: old.schedule) ?? local,
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
            fields[name] = nil
        }
        if options.event { fields[JobOption.command.rawValue] = nil }
        guard !changes.isEmpty || !unset.isEmpty || options.event else {
            throw ValidationError("say what is to change, in the options of 'add', or --unset")
        }
        fields.merge(changes) { $1 }
        definition = try JSONValue.object(fields).decoded()
    }

    /// The schedule that is stated, completed from what was: `--tz` or `--from` alone changes that alone.
    private static func completed(
        _ stated: ScheduleOptions,
        _ old: ScheduleWords
    ) -> ScheduleOptions? {
        var schedule = stated
        let isStated =
            [stated.delay, stated.at, stated.every, stated.cron, stated.calendar]
            .contains { $0 != nil }
        if isStated { return stated }
        guard stated.tz != nil || stated.from != nil else { return nil }
        (schedule.every, schedule.cron, schedule.calendar) = (old.every, old.cron, old.calendar)
        return schedule
    }
}

extension Job {
    /// What it is, to be said again with changes: `paused` only where that is what pauses it now.
    ///
    /// Said of a job that was resumed, it would pause it; left out of one that it pauses, it would resume it.
    var restated: JobDefinition {
        var definition = definition
        if state != .paused || maintenance { definition.paused = nil }
        return definition
    }
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
            throw ValidationError("--unset '\(argument)': a job has a schedule; state another one")
        }
        return found
    }
}

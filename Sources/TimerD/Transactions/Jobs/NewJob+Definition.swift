// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

extension NewJob {
    /// Checks a definition and fixes its schedule to `moment`; `zone` is evaluated only if it is needed.
    ///
    /// `isAdded`: the job is to be added. If it has a `key`, it may be there already, by an earlier try: then it is no error
    /// that it cannot fire any more. So that error is kept in `refusal`, and thrown only if the job is new.
    ///
    /// - Throws: `badSchedule` for words that cannot be read and for a schedule that can never
    ///   fire; `limitReached` for a zone that cannot be read now; `invalidParams` for options out of range.
    init(
        _ definition: JobDefinition,
        owner: Owner,
        at moment: ClockReading,
        zone: @autoclosure () -> Zone,
        isAdded: Bool = false
    ) throws(ControlError) {
        let now = moment.wall
        let policy: JobPolicy
        var note: String?
        do throws(OptionRefusal) {
            policy = try JobPolicy(definition, now: now, zone: zone())
            if let text = definition.until {
                note = try JobOption.until.date(text, now: now, zone: zone()).note
            }
        } catch {
            throw ControlError(error)
        }
        let resolved: ResolvedSchedule
        do {
            resolved = try definition.schedule.resolve(now: now, zone: zone())
        } catch {
            throw ControlError(error)
        }
        do throws(ControlError) {
            try Self.requireToFire(resolved, definition, policy, now: now)
        } catch {
            guard isAdded, definition.key != nil else { throw error }
            refusal = error
        }

        self.owner = owner
        self.policy = policy
        self.notes = resolved.notes + [note].compactMap(\.self)
        self.clock = resolved.clock
        var words = definition.words
        words.until = policy.until?.rfc3339
        words.schedule = words.schedule.namingZone(of: resolved.schedule)
            .fixingDates(of: resolved.schedule)
        rules = ZoneRules(words.schedule, resolved.schedule)
        self.definition = JobDefinition(words)
        self.text = StoredDefinition(self.definition)
        // Only a schedule that is a length of time is on the elapsed clock. Its dates were computed from the wall clock's
        // now.
        self.firstFireDate = resolved.firstFireDate.map {
            moment.date(ofWall: $0, on: resolved.clock)
        }
        self.schedule = resolved.schedule
        if let anchor = resolved.schedule.anchor {
            self.schedule = schedule.movingGrid(
                to: moment.date(ofWall: anchor, on: resolved.clock)
            )
        }
    }

    private static func requireToFire(
        _ resolved: ResolvedSchedule,
        _ definition: JobDefinition,
        _ policy: JobPolicy,
        now: Timestamp
    ) throws(ControlError) {
        // Only @reboot has none yet: the next start of the machine makes one.
        guard let first = resolved.firstFireDate else { return }
        if let until = policy.until, first > until {
            throw ControlError(
                .badSchedule,
                "the schedule never fires: its first date '\(first.rfc3339)' is after "
                    + "until '\(until.rfc3339)'"
            )
        }
        switch definition.misfire {
        case .once, .all: return
        case .skip, nil:
            try requireNotMissed(
                first,
                policy.misfire,
                now: now,
                advice: "misfire 'once' would make up for it at once"
            )
        }
    }
}

extension ScheduleWords {
    /// The words with the dates of `schedule`, which they mean, as instants: read again later, `+1s` would be another one.
    fileprivate func fixingDates(of schedule: Schedule) -> ScheduleWords {
        var words = self
        switch schedule {
        case .once(let date):
            if let at, Timestamp(rfc3339: at) == nil { words.at = date.rfc3339 }
        case .every(let grid):
            if let from, Timestamp(rfc3339: from) == nil { words.from = grid.first.rfc3339 }
        case .cron, .calendar, .reboot: break
        }
        return words
    }
}

/// Refuses a date that passed more than `policy.after` ago.
///
/// Such a date is most often a mistake.
func requireNotMissed(
    _ date: Timestamp,
    _ policy: MisfirePolicy,
    now: Timestamp,
    advice: String
) throws(ControlError) {
    guard now - date > policy.after else { return }
    throw ControlError(
        .badSchedule,
        "the date '\(date.rfc3339)' has passed, \((now - date).inTwoUnits) ago; \(advice)"
    )
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerWords

/// What daylight saving does to a date, or to a day.
enum ClockChange {
    /// What it did to a date of a schedule; nil for nothing.
    static func words(_ date: Timestamp, of schedule: Schedule, _ dates: LocalDate) -> String? {
        // try?: a zone that is not here has no changes to tell of; its job is held.
        let zone = schedule.ownZone.flatMap { try? Zone(named: $0) } ?? dates.zone
        if schedule.movedByDaylightSaving(date) {
            let time = ClockFace(date, in: zone).time
            return "clocks go forward that day: its time is not there, so it fires at \(time)"
        }
        // Of a grid it means nothing that a time comes twice.
        if case .every = schedule { return nil }
        guard case .repeated(let first, _) = zone.resolve(zone.localTime(at: date)) else {
            return nil
        }
        let time = ClockFace(date, in: zone).time
        return "clocks go back that day: the \(date == first ? "first" : "second") \(time) of two"
    }

    /// An hour at which the clock of a zone is changed.
    struct Change: Hashable, Sendable {
        /// The first instant by the new rule.
        var date: Timestamp
        /// How far clocks are set forward; back where it is negative.
        var shift: TimeSpan
    }

    /// The changes in a stretch of time, which is of a month or so.
    static func changes(from: Timestamp, before: Timestamp, in zone: Zone) -> [Change] {
        var changes: [Change] = []
        // One at the very beginning is within, as of a day without midnight; one at the end is not.
        let last = before - .seconds(1)
        var date = from - .seconds(1)
        while date < last {
            let next = min(date + .seconds(86_400), last)
            let (old, new) = (zone.offset(at: date), zone.offset(at: next))
            if old != new {
                changes.append(
                    Change(date: moment(date, next, zone), shift: .seconds(Int64(new - old)))
                )
            }
            date = next
        }
        return changes
    }

    /// Where between two instants the offset changes, to the second.
    private static func moment(_ start: Timestamp, _ end: Timestamp, _ zone: Zone) -> Timestamp {
        let old = zone.offset(at: start)
        var (low, high) = (start.microseconds / 1_000_000, end.microseconds / 1_000_000)
        while high - low > 1 {
            let middle = (low + high) / 2
            let date = Timestamp(microseconds: middle * 1_000_000)
            if zone.offset(at: date) == old { low = middle } else { high = middle }
        }
        return Timestamp(microseconds: high * 1_000_000)
    }
}

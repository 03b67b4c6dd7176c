// SPDX-License-Identifier: Apache-2.0

// What becomes of a schedule whose zone gets other rules: its country has changed them, or the machine
// was moved to another zone.
//
// Its dates are local times, and each of them comes once: one that has fired by the rules before does not
// fire again because it comes again, and one that was still to come is not left out because it has passed.
// A schedule that follows real time goes on from the next instant that matches, as through daylight saving.

extension Schedule {
    /// The same schedule in another zone, or by other rules of its own.
    public func inZone(_ zone: Zone) -> Schedule {
        switch self {
        case .cron(var expression):
            expression.zone = zone
            return .cron(expression)
        case .calendar(var expression):
            expression.zone = zone
            return .calendar(expression)
        case .once, .every, .reboot: return self
        }
    }

    /// The zone that the expression itself names; nil where it names none.
    public var ownZone: String? {
        if case .calendar(let expression) = self { expression.ownZone } else { nil }
    }

    /// The date that takes the place of `date`, the next one of `old`: the same schedule by the rules before.
    ///
    /// All dates of `old` before `date` are over. The new date may have passed. Nil once there is none.
    public func date(inPlaceOf date: Timestamp, of old: Schedule, at now: Timestamp) -> Timestamp? {
        guard let zone, let oldZone = old.zone else { return date }
        let justBefore = date - TimeSpan(microseconds: 1)
        switch self {
        case .cron(let expression) where !expression.fields.followsRealTime:
            return zone.date(of: expression.fields, nextIn: oldZone, after: justBefore)
        case .calendar(let expression) where !expression.fields.followsRealTime:
            return zone.date(of: expression.fields, nextIn: oldZone, after: justBefore)
        default:
            if date <= now { return nextFireDate(after: justBefore) }
            // Dates that are over although they lie ahead: they were dropped, or the clock was set back.
            guard let first = old.nextFireDate(after: now), first < date else {
                return nextFireDate(after: now)
            }
            let over = old.passedDates(from: first, through: justBefore, newest: 1)
            return nextFireDate(after: over.last)
        }
    }
}

extension Zone {
    /// When the local time of `pattern` comes here that comes next after `date` in another zone.
    fileprivate func date(
        of pattern: some LocalPattern,
        nextIn other: Zone,
        after date: Timestamp
    ) -> Timestamp? {
        let instant = date.clamped.microseconds
        let latest = other.latestLocalTime(by: instant, in: other.period(at: instant))
        guard let match = pattern.firstMatch(atOrAfter: latest + 1) else { return nil }
        let next = Timestamp(microseconds: firstInstant(notBefore: match).instant)
        return next <= .distantFuture ? next : nil
    }
}

extension ScheduleWords {
    /// The words with the zone by name that `schedule`, which they mean, is read in: that of who wrote them.
    ///
    /// Unchanged where they name one, need none, or that zone has no name.
    public func namingZone(of schedule: Schedule) -> ScheduleWords {
        guard tz == nil, schedule.ownZone == nil, let zone = schedule.zone, zone.isKnownByName
        else { return self }
        var words = self
        words.tz = zone.name
        return words
    }

    /// The same for words that were not read yet.
    public func namingZone(_ local: Zone) -> ScheduleWords {
        // try?: words that cannot be read are refused where they are resolved.
        guard tz == nil, cron != nil || calendar != nil,
            let schedule = try? schedule(anchor: .distantPast, zone: local)
        else { return self }
        return namingZone(of: schedule)
    }
}

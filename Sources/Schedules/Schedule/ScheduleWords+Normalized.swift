// SPDX-License-Identifier: Apache-2.0

extension ScheduleWords {
    /// The words in one form for most spellings: lengths of time and dates have one form, and expressions one
    /// for each list of their items; `hasDates` says whether two mean the same.
    ///
    /// Dates become instants, read in `zone` if they name none. An expression keeps the zone that it names;
    /// one without a zone gets none.
    ///
    /// - Throws: what reading the words throws.
    public func normalized(now: Timestamp, zone: Zone) throws(ScheduleError) -> ScheduleWords {
        if let delay = self.in {
            return ScheduleWords(in: try TimeSpan(parsing: delay).description)
        }
        let resolved = try resolve(now: now, zone: zone)
        switch resolved.schedule {
        case .once(let date):
            return ScheduleWords(at: date.rfc3339)
        case .every(let grid):
            return ScheduleWords(
                every: grid.interval.description,
                from: from == nil ? nil : grid.first.rfc3339
            )
        case .cron, .reboot:
            return ScheduleWords(cron: resolved.schedule.normalized, tz: tz)
        case .calendar:
            return ScheduleWords(calendar: resolved.schedule.normalized, tz: tz)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// When a job fires, by its definition; no daemon is asked.
extension Job {
    /// The job's schedule; nil for a kind that only a newer daemon knows.
    func schedule(in zone: Zone) -> Schedule? {
        // try?: a schedule that cannot be read here is shown in the words in which it came.
        try? definition.schedule.schedule(anchor: fireDate ?? addedAt, zone: zone)
    }

    /// The dates after now; a moved grid, the count and the last date are taken into account.
    ///
    /// `skip`: called with each date; returns up to when further dates are left out, nil to go on with the
    /// next.
    func comingDates(
        _ dates: LocalDate,
        until end: Timestamp = .distantFuture,
        atMost limit: Int,
        skip: (Timestamp) -> Timestamp? = { _ in nil }
    ) -> [Timestamp] {
        guard state == .scheduled, let first = fireDate, let schedule = schedule(in: dates.zone)
        else { return [] }
        let left = definition.count.map { $0 - fires } ?? .max
        let last = definition.until.flatMap { Timestamp(rfc3339: $0) } ?? .distantFuture
        var coming: [Timestamp] = []
        var date = first > dates.now ? first : schedule.nextFireDate(after: dates.now)
        while let next = date, coming.count < min(left, limit), next <= min(last, end) {
            coming.append(next)
            // A fire that was moved alone stands for the date it was moved away from.
            let from = next == first ? movedFrom : nil
            date = schedule.nextFireDate(after: max(next, from ?? next, skip(next) ?? next))
        }
        return coming
    }
}

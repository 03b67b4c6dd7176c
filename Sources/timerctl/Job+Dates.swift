// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// When a job fires, as far as its definition tells; no daemon is asked.
extension Job {
    /// The schedule as it stands; nil for a kind that a newer daemon knows and this program does not.
    func schedule(in zone: Zone) -> Schedule? {
        // try?: what cannot be read here is shown in the words in which it came.
        try? definition.schedule.schedule(anchor: fireDate ?? addedAt, zone: zone)
    }

    /// The dates after now, as they stand: moved grids, the count and the last date are heeded.
    ///
    /// `skip`: after a date, up to where no more are wanted; nil to go on with the next.
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

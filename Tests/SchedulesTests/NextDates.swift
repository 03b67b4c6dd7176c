// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

/// The instant of an RFC 3339 text; the test fails where there is none.
func instant(_ text: String) throws -> Timestamp {
    try #require(Timestamp(rfc3339: text), "no date: \(text)")
}

/// The next dates of a schedule, at most `count`.
func nextDates(_ schedule: Schedule, after date: Timestamp, count: Int) -> [Timestamp] {
    var dates: [Timestamp] = []
    var last = date
    while dates.count < count, let next = schedule.nextFireDate(after: last) {
        dates.append(next)
        last = next
    }
    return dates
}

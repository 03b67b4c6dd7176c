// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// The dates of a row, on the job's clock.
package struct TakenDates: Hashable, Sendable {
    package let first: Timestamp
    /// Never before `first`.
    package private(set) var last: Timestamp

    /// Whether `date` of `job` is one of them.
    ///
    /// It is not if the job's grid was moved since, or if `date` is a moved date that only lies between them, also where it
    /// is not known any more what that was moved from.
    package func contains(_ date: Timestamp, of job: StoredJob) -> Bool {
        guard first...last ~= date, isOnGrid(date, of: job) else { return false }
        return first == date || date != job.dates.moved?.to && job.isOfSchedule(date)
    }

    /// Whether `date` and these dates are on one grid; on cron and calendar all dates are.
    package func isOnGrid(_ date: Timestamp, of job: StoredJob) -> Bool {
        guard case .every(let grid) = job.schedule else { return true }
        return (date - first).microseconds % grid.interval.microseconds == 0
    }

    /// Has them reach to `date` at least.
    package mutating func grow(to date: Timestamp) { last = max(last, date) }

    /// A `last` before `first`, as a damaged row has it, is taken for `first`.
    package init(first: Timestamp, last: Timestamp) {
        self.first = first
        self.last = max(first, last)
    }
}

// SPDX-License-Identifier: Apache-2.0

package import Schedules

extension StoredJob {
    /// The job's dates.
    package var dates: JobDates {
        var dates = JobDates(schedule)
        dates.jitter = policy.jitter
        dates.job = id
        if let movedFrom, let fireDate {
            dates.moved = JobDates.Moved(from: movedFrom, to: fireDate)
        }
        return dates
    }

    /// When its next fire is due; nil while there is none.
    package var dueDate: Timestamp? { fireDate.map(dates.due) }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules

/// What a command does to jobs that exist.
enum JobChange: Sendable {
    case invalidate
    /// Has what a request has ended live again.
    case restore
    /// Dates of the wall clock: the new one, and the one that the job is to have now.
    case setFireDate(Timestamp, from: Timestamp? = nil)
    case pause
    case resume
    /// Pauses what is not paused, until the end of the maintenance.
    case beginMaintenance
    /// Resumes what its begin has paused.
    case endMaintenance
    /// Drops so many of the next dates; with the date of the wall clock that the job is to have now.
    case skip(Int, from: Timestamp? = nil)
}

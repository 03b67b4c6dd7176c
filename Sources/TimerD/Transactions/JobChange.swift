// SPDX-License-Identifier: Apache-2.0

import Schedules

/// What a command does to jobs that exist.
enum JobChange: Sendable {
    case invalidate
    /// Has what a request has ended live again.
    case restore
    /// A date of the wall clock.
    case setFireDate(Timestamp)
    case pause
    case resume
    /// Pauses what is not paused, until the end of the maintenance.
    case beginMaintenance
    /// Resumes what its begin has paused.
    case endMaintenance
    /// Drops so many of the next dates.
    case skip(Int)
}

// SPDX-License-Identifier: Apache-2.0

import JobModel

extension CommandFire {
    /// Where a fire stands: exactly one of these is true of it.
    enum State: Sendable {
        /// Its command is not to begin yet.
        case waiting(Wait)
        /// It has a place among the runs, and the row that says `running` is on its way to disk.
        case beginning
        /// That row is on disk. If a change of its job is under way, the command begins after it, unless the
        /// change ends the job.
        ///
        /// Indirect, as the next: those that wait are many, and are not to take the room of a run.
        indirect case ready(RunningCommand)
        indirect case running(RunningCommand)
    }
}

// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// A fire of a job with a command, from its date until its last attempt is over.
package struct CommandFire: Sendable {
    package let id: FireID
    /// The job as it was when the fire began, or when its command last began.
    package var job: StoredJob
    /// By the wall clock, as is `firedAt`.
    package var fireDate: Timestamp
    /// By when it is to begin, by the wall clock, where that is not its date.
    package var dueBy: Timestamp?
    /// When its command began first; nil while it never has.
    package var firedAt: Timestamp?
    /// How many missed dates it stands for.
    package var missed = 0
    /// The number of the attempt that runs, or is to come, from 1.
    package var attempt = 1
    /// Which handler of the job its command is; nil for the job's own command.
    package var handler: RunHandler?
    /// Whether it was late when its command was first to begin: fires that are due now go first.
    package var isLate = false
    /// Whether a user fired it by hand.
    package var isByHand = false

    /// A command that begins later than this after it was due counts as late.
    package static let lateness = TimeSpan.seconds(1)

    /// Whether its command would be late if it began now: it makes up for missed dates, or was due before.
    ///
    /// Of one that has begun, the next attempt and the handler are due whenever their turn comes, long after its date: after a
    /// restart as before that.
    package func isLate(at moment: ClockReading) -> Bool {
        missed > 0 || (firedAt == nil && moment.wall - (dueBy ?? fireDate) > Self.lateness)
    }

    /// What a command waits for.
    package enum Wait: Hashable, Sendable {
        /// A place among the runs that the daemon's limits allow at once.
        case place
        /// The end of the job's run in progress.
        case run
        /// The time of its next attempt, in elapsed time.
        case time(Timestamp)
        /// The record of its run's end, which says what follows.
        case record
    }

    package init(
        id: FireID,
        job: StoredJob,
        fireDate: Timestamp,
        dueBy: Timestamp? = nil,
        firedAt: Timestamp? = nil,
        missed: Int = 0,
        attempt: Int = 1,
        handler: RunHandler? = nil,
        isLate: Bool = false,
        isByHand: Bool = false
    ) {
        self.id = id
        self.job = job
        self.fireDate = fireDate
        self.dueBy = dueBy
        self.firedAt = firedAt
        self.missed = missed
        self.attempt = attempt
        self.handler = handler
        self.isLate = isLate
        self.isByHand = isByHand
    }
}

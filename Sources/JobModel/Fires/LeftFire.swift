// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// A fire that was open when a daemon ended.
package struct LeftFire: Hashable, Sendable {
    package var id: FireID
    package var job: JobID
    package var wallDate: Timestamp
    /// By when it was to begin, by the wall clock, where that is not its date.
    package var dueBy: Timestamp?
    /// Claimed, waiting or running.
    package var state: FireState
    package var missed: Int
    package var firedAt: Timestamp?
    package var waitsFor: FireWait?
    /// By the wall clock.
    package var waitsUntil: Timestamp?
    /// Whether a user fired it by hand.
    package var isByHand = false

    /// Whether its event may have been told, even if its date is still to come by the present clock.
    package var isMaybeTold: Bool { state == .claimed && firedAt != nil }

    package enum Verdict: Hashable, Sendable {
        /// It is not due yet.
        case keep
        /// An event that may have been told: it is told again, under the same id.
        case redeliver
        /// A fire by hand, which no later date makes up for.
        case carryOut
        /// A command that was not started: it follows the misfire rule like any date.
        case resolveAgain
        /// A command that was not started, of a fire that has begun; or its next attempt.
        case wait
        /// A command that may have been started: at most once.
        case interrupt
    }

    /// The fire, as it goes on in this daemon.
    package func commandFire(of job: StoredJob) -> CommandFire {
        CommandFire(
            id: id,
            job: job,
            fireDate: wallDate,
            dueBy: dueBy,
            firedAt: firedAt,
            missed: missed,
            isByHand: isByHand
        )
    }

    /// What becomes of it at a start; pure.
    package func verdict(of job: StoredJob, isClaim: Bool, at moment: ClockReading) -> Verdict {
        if state == .running { return .interrupt }
        if state == .waiting { return .wait }
        guard isClaim else { return .carryOut }
        guard isDue(of: job, at: moment) || isMaybeTold else { return .keep }
        return job.definition.isEvent ? .redeliver : .resolveAgain
    }

    /// Whether the job's claim is due, by the job's clock: the wall clock may have been set back since it was
    /// claimed.
    ///
    /// Between its date and when jitter has it due no daemon has told it.
    package func isDue(of job: StoredJob, at moment: ClockReading) -> Bool {
        job.dueDate.map { $0 <= moment.reading(of: job.clock) } ?? (wallDate <= moment.wall)
    }

    package init(
        id: FireID,
        job: JobID,
        wallDate: Timestamp,
        dueBy: Timestamp? = nil,
        state: FireState,
        missed: Int,
        firedAt: Timestamp? = nil,
        waitsFor: FireWait? = nil,
        waitsUntil: Timestamp? = nil,
        isByHand: Bool = false
    ) {
        self.id = id
        self.job = job
        self.wallDate = wallDate
        self.dueBy = dueBy
        self.state = state
        self.missed = missed
        self.firedAt = firedAt
        self.waitsFor = waitsFor
        self.waitsUntil = waitsUntil
        self.isByHand = isByHand
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A run that was in progress when a daemon ended.
struct LeftRun: Sendable {
    var run: RunID
    var job: StoredJob
    var fire: LeftFire
    var attempt: Int
    var isOnFailure: Bool
    /// Nil if the daemon ended before it was recorded.
    var process: Orphan?

    /// Its fire, as it goes on in this daemon.
    var commandFire: CommandFire {
        var command = fire.commandFire(of: job)
        (command.attempt, command.isOnFailure) = (attempt, isOnFailure)
        // Its event was told, by the daemon before or by this one.
        command.firedAt = command.firedAt ?? fire.wallDate
        return command
    }

    /// What follows once its process has ended.
    var next: RetryDecision {
        isOnFailure ? .done : RetryDecision(.interrupted, attempt: attempt, of: fire.id, job: job)
    }
}

/// A fire that was open when a daemon ended.
struct LeftFire: Hashable, Sendable {
    var id: FireID
    var job: JobID
    var wallDate: Timestamp
    /// Claimed, waiting or running.
    var state: Run.State
    var missed: Int
    var firedAt: Timestamp?
    var waitsFor: Run.Wait?
    /// By the wall clock.
    var waitsUntil: Timestamp?
    /// Whether a user fired it by hand.
    var isByHand = false

    /// Whether its event may have been told, even if its date is still to come by the present clock.
    var isInDoubt: Bool { state == .claimed && firedAt != nil }

    enum Verdict: Hashable, Sendable {
        /// Its date is still to come.
        case keep
        /// An event that may have been told: it is told again, under the same id.
        case redeliver
        /// A fire by hand, which no later date makes up for.
        case carryOut
        /// A command that was not started: it follows the misfire rule like any date.
        case resettle
        /// A command that was not started, of a fire that has begun; or its next attempt.
        case wait
        /// A command that may have been started: at most once.
        case interrupt
    }

    /// The fire, as it goes on in this daemon.
    func commandFire(of job: StoredJob) -> CommandFire {
        CommandFire(
            id: id,
            job: job,
            fireDate: wallDate,
            firedAt: firedAt,
            missed: missed,
            isByHand: isByHand
        )
    }

    /// What becomes of it at a start; pure.
    func verdict(of job: StoredJob, isClaim: Bool, at moment: Moment) -> Verdict {
        if state == .running { return .interrupt }
        if state == .waiting { return .wait }
        guard isClaim else { return .carryOut }
        guard hasCome(of: job, at: moment) || isInDoubt else { return .keep }
        return job.definition.command == nil ? .redeliver : .resettle
    }

    /// Whether the date of the job's claim has come, by the job's clock: the wall clock may have been set
    /// back since it was claimed.
    func hasCome(of job: StoredJob, at moment: Moment) -> Bool {
        job.fireDate.map { $0 <= moment.reading(of: job.clock) } ?? (wallDate <= moment.wall)
    }
}

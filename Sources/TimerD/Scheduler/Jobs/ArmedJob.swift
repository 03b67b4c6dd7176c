// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A job that the window covers, and how far its next fire has come.
///
/// It decides what to do next; the scheduler does it.
struct ArmedJob: Sendable {
    var job: StoredJob
    var stage = Stage.waiting
    /// Nil while a change of the job is under way, and while its due fire waits: for its turn, for a run's
    /// end or for its run's row.
    var timer: (any ArmedTimer)?
    /// Whether its fire has had to wait for its turn.
    var hasWaited = false

    /// The entry of `job` in place of `before`.
    ///
    /// If both have the same claimed fire, the new entry takes over claim, stage and `hasWaited`.
    init(job: StoredJob, since before: ArmedJob?) {
        self.job = job
        guard let before, before.job.claim?.fire == job.claim?.fire else { return }
        self.job.claim = before.job.claim
        stage = before.stage
        hasWaited = before.hasWaited
    }

    /// How far a fire has come.
    ///
    /// A fire without a command is always `waiting`: it has no run to prepare.
    enum Stage: Hashable, Sendable {
        case waiting
        /// The run's row is on its way to disk.
        case preparing(isDue: Bool)
        /// The run's row is on disk: its command may be started without a further write.
        case prepared(RunID, RunPlace)
    }

    /// How long ahead of the date a run's row is written, so that its commit is over by then.
    static let preparationLead = TimeSpan.milliseconds(10)

    /// When its timer is to fire next, on the job's clock; nil if the job has no next date.
    var wakeDate: Timestamp? {
        guard let date = job.dueDate else { return nil }
        switch stage {
        case .waiting where job.definition.command != nil: return date - Self.preparationLead
        case .waiting, .preparing, .prepared: return date
        }
    }

    /// The fire whose run is stored, or about to be, and whose command has not been started.
    var unstartedFire: FireID? {
        stage == .waiting ? nil : job.claim?.fire
    }

    /// Whether it counts in its user's share already: its run is stored, or about to be.
    var hasHadTurn: Bool { stage != .waiting }

    /// The user in whose share the next write about its fire counts; nil if the fire counts already.
    var share: UInt32? { hasHadTurn ? nil : job.owner.uid }

    enum Step: Hashable, Sendable {
        /// The date is still to come: call again then.
        case wait
        /// Write the run's row, ahead of the date.
        case prepare
        case fire
        /// Dates have passed since the claim was made: the misfire policy decides.
        case resolveAgain
        /// A run is in progress and the job does not overlap.
        case skip
        /// A run is in progress, and the fire's command comes after it.
        case enqueue
        /// A run is in progress, and the fire makes up for a missed date: it stays armed until the run has
        /// ended.
        case waitForRun
    }

    /// What to do when called at `now` of the job's clock.
    ///
    /// `isRunning`: a run is in progress; `isQueued`: a fire waits for its end.
    func step(at now: Timestamp, isRunning: Bool, isQueued: Bool) -> Step {
        let overlap = job.policy.run.overlap
        let isCommand = job.definition.command != nil
        // A run of the command that the job had overlaps with no event.
        let isRunning = isRunning && isCommand && overlap != .allow
        guard let date = job.dueDate, let claim = job.claim else { return .wait }
        guard now >= date else {
            let isTime = now >= date - Self.preparationLead
            return isCommand && isTime && stage == .waiting && !isRunning ? .prepare : .wait
        }
        // Of a fire that was made ready only its own lateness counts: on a slow disk, the next date of a short
        // interval always comes before its row is stored.
        let isMissed = stage == .waiting ? hasMissedDates(at: now) : isTooLate(at: now)
        if isMissed, !claim.isPast, !claim.isRedelivery { return .resolveAgain }
        if isRunning {
            // Under `all` each missed date gets a fire of its own, and these wait for each other.
            if claim.isPast, job.policy.misfire.mode == .all { return .waitForRun }
            switch overlap {
            case .skip, .allow: return .skip
            case .queue: return isQueued ? .skip : .enqueue
            case .replace: return .enqueue
            }
        }
        return .fire
    }

    private func hasMissedDates(at now: Timestamp) -> Bool {
        guard let date = job.fireDate else { return false }
        if isTooLate(at: now) { return true }
        let dates = job.dates
        return dates.next(after: date).map { dates.due($0) <= now } ?? false
    }

    private func isTooLate(at now: Timestamp) -> Bool {
        job.dueDate.map { job.policy.misfire.isMissed($0, at: now) } ?? false
    }
}

extension StoredJob {
    /// How late the timer of the next fire may be.
    var tolerance: TimeSpan { fireDate.map(tolerance(of:)) ?? policy.tolerance }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Counts what the scheduler has done since its start; used on its thread alone, without a lock.
struct SchedulerCounters: Sendable {
    private(set) var fires = MetricsReply.Fires()
    private(set) var skipped: [String: Int] = [:]
    private(set) var runs: [String: Int] = [:]
    private(set) var notices = Notices()
    /// Records that can never be stored.
    private(set) var dropped = 0

    /// What became of tries to hand a notice over.
    struct Notices: Sendable {
        var handedOver = 0
        var failedTries = 0
        var givenUp = 0
    }

    /// Counts a fire that begins at `moment`.
    mutating func countFire(of job: StoredJob, _ claim: StoredJob.Claim, at moment: ClockReading) {
        if job.definition.isEvent {
            fires.event += 1
        } else if job.policy.queue != nil {
            fires.task? += 1
        } else {
            fires.command += 1
        }
        guard claim.dateByHand == nil, let due = job.dueDate else { return }
        fires.lateness.observe(moment.reading(of: job.clock) - due)
    }

    /// Counts a fire whose command begins at `moment`, after it has waited: for a place, or for a run's end.
    mutating func countFire(_ fire: CommandFire, at moment: ClockReading) {
        fires.command += 1
        guard !fire.isByHand else { return }
        let (job, now) = (fire.job, moment.reading(of: fire.job.clock))
        let due = job.dates.due(moment.date(ofWall: fire.fireDate, on: job.clock))
        fires.lateness.observe(now - due)
    }

    /// Counts tasks that were due when their jobs were added: none was late.
    mutating func countAtOnce(_ count: Int) {
        fires.task? += count
        fires.lateness.observe(.zero, count: count)
    }

    mutating func countDropped() { dropped += 1 }

    mutating func countHandedOver() { notices.handedOver += 1 }

    /// Counts a try that has failed; `isLast`: with it the notice was given up.
    mutating func countNotHandedOver(isLast: Bool) {
        notices.failedTries += 1
        if isLast { countGivenUp() }
    }

    /// Counts a notice that is given up.
    mutating func countGivenUp() { notices.givenUp += 1 }

    /// Takes over how many fires have waited for their turn.
    mutating func noteWaited(_ count: Int) { fires.waited = count }

    /// Counts the dates that a write has skipped.
    mutating func countSkipped(_ outboxEvents: [OutboxEvent]) {
        for event in outboxEvents.map(\.event) where event.type == .fireSkipped {
            skipped[event.reason ?? "", default: 0] += event.dates ?? 1
        }
    }

    /// Counts a run that has ended.
    ///
    /// Runs of the job's handlers count apart.
    mutating func countRun(_ outcome: RunOutcome, of job: StoredJob, handler: RunHandler?) {
        let counted: MetricsReply.Runs.Outcome =
            switch outcome {
            case _ where handler == .onFailure: .onFailure
            case _ where handler == .onSuccess: .onSuccess
            case .exited: job.policy.run.isSuccess(outcome) ? .success : .failure
            case .signalled, .outOfMemory: .signalled
            case .timedOut: .timedOut
            case .notStarted: .notStarted
            case .interrupted, .lost: .interrupted
            case .finished: .success
            case .failed, .released: .failure
            }
        runs[counted.rawValue, default: 0] += 1
    }
}

extension Scheduler {
    /// What the scheduler has done, and what it has in hand.
    struct Measures: Sendable {
        var counters: SchedulerCounters
        /// Timers of jobs in the loop.
        var armed: Int
        var claimed: Int
        var running: Int
        var waitingForPlace: Int
        var waiting: Int
        /// Whether commands may begin.
        var mayBegin: Bool
        /// The names of the nodes on which they may.
        var readyHosts: Set<String>
        /// How many jobs are held whose hold could not be stored.
        var unstoredHolds: Int
    }

    /// Reads the counts; the cost does not depend on how many jobs are armed.
    func measures() -> Measures {
        var counters = counters
        counters.noteWaited(turns.waited)
        counters.countAtOnce(taskStanding.atOnce)
        return Measures(
            counters: counters,
            armed: armed.timers,
            claimed: armed.claims,
            running: fires.running,
            waitingForPlace: places.waiting,
            waiting: fires.waiting - places.waiting,
            mayBegin: runnerTrouble == nil,
            readyHosts: hosts.ready,
            unstoredHolds: held.unstored.count
        )
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A fire that has begun and whose command is still to run, or to run again.
struct WaitingRun: Sendable {
    enum Cause: String, Sendable {
        /// A run of the job is in progress; this one comes when it has ended.
        case run
        /// The attempt before it failed.
        case retry
        /// The fire has failed for good: what the job wants done then.
        case onFailure
    }

    var job: StoredJob
    var fire: FireID
    /// By the wall clock, as is `firedAt`.
    var fireDate: Timestamp
    var firedAt: Timestamp
    var missed: Int
    /// The number of the attempt to come, from 1.
    var attempt: Int
    var cause: Cause
    /// Not before this elapsed time; nil for one that waits for another run's end.
    var until: Timestamp?
    /// Whether its row is on its way to disk, and the command starts when it is there.
    var isStarting = false
    var timer: (any ArmedTimer)?
}

extension Scheduler {
    /// Whether a fire's command is in progress: running, about to, or between two attempts.
    func isBusy(_ job: JobID) -> Bool {
        if let runs = runs[job], !runs.isSubset(of: onFailureRuns) { return true }
        return waitingFires[job]?.contains { fire in
            guard let run = waiting[fire] else { return false }
            return run.cause == .retry || run.cause == .run && run.isStarting
        } ?? false
    }

    /// The fire that waits for a run's end, where one does.
    func queuedFire(of job: JobID) -> FireID? {
        waitingFires[job]?.first { waiting[$0]?.cause == .run && waiting[$0]?.isStarting == false }
    }

    /// Keeps a fire until its command may run.
    func wait(_ run: WaitingRun) {
        keepWaiting(run)
        armWaiting(run.fire)
    }

    /// Has a fire wait, and its job be as busy as that makes it, until `armWaiting`.
    func keepWaiting(_ run: WaitingRun) {
        waiting[run.fire] = run
        waitingFires[run.job.id, default: []].insert(run.fire)
        busy.note(run.job)
    }

    /// Sets the timer of a fire that waits for a time; one whose time has come goes on at once.
    func armWaiting(_ fire: FireID) {
        guard var run = waiting[fire], !run.isStarting, !isStopping, let until = run.until else {
            return
        }
        run.timer?.invalidate()
        run.timer = nil
        let moment = clock.now()
        if until > moment.elapsed {
            run.timer = loop.arm(fire, at: moment.wallDate(until, on: .elapsed), for: self)
        }
        waiting[fire] = run
        if until <= moment.elapsed, mayStart(run) { startWaiting(fire) }
    }

    /// Whether no other fire of a job whose runs do not overlap is running, or about to.
    ///
    /// A crash may leave two of them to be tried again: one that ran, and one that was made ready for
    /// a date that was to be skipped for it.
    private func mayStart(_ run: WaitingRun) -> Bool {
        let job = run.job.id
        if run.cause == .onFailure || run.job.policy.run.overlap == .allow { return true }
        let isAnotherStarting = waitingFires[job, default: []].contains { fire in
            fire != run.fire && waiting[fire]?.isStarting == true
                && waiting[fire]?.cause != .onFailure
        }
        return !isAnotherStarting && runs[job, default: []].isSubset(of: onFailureRuns)
    }

    /// The time that a fire waited for has come, or may have.
    func waitIsOver(_ fire: FireID) { armWaiting(fire) }

    /// Stores that the run is about to start; goes on when that is durable.
    func startWaiting(_ fire: FireID) {
        guard let run = waiting[fire], !run.isStarting, !isStopping else { return }
        run.timer?.invalidate()
        waiting[fire]?.timer = nil
        waiting[fire]?.isStarting = true
        record(about: run.job.owner) {
            try $0.beginWaiting(run)
        } durable: { scheduler, begun in
            scheduler.forgetWaiting(fire)
            guard let begun else {
                scheduler.runsChanged(of: run.job.id)
                return
            }
            guard !scheduler.isStopping else {
                scheduler.record(about: run.job.owner) { try $0.waitAgain(run, begun.run) }
                return
            }
            scheduler.start(
                RunningCommand(
                    run: begun.run,
                    job: begun.job,
                    fire: run.fire,
                    command: begun.command,
                    input: begun.input,
                    isOnFailure: run.cause == .onFailure,
                    fireDate: run.fireDate,
                    firedAt: run.firedAt,
                    missed: run.missed,
                    attempt: run.attempt
                )
            )
        }
    }

    func forgetWaiting(_ fire: FireID) {
        guard let run = waiting.removeValue(forKey: fire) else { return }
        run.timer?.invalidate()
        waitingFires[run.job.id]?.remove(fire)
        if waitingFires[run.job.id]?.isEmpty == true { waitingFires[run.job.id] = nil }
        forgetIfIdle(run.job)
    }

    // MARK: - What is in progress

    /// Notes that a run of the job is in progress.
    func noteRun(_ run: RunID, of job: StoredJob) {
        if runs[job.id, default: []].insert(run).inserted { runCount += 1 }
        busy.note(job)
    }

    /// Notes that a run of the job is over.
    func forgetRun(_ run: RunID, of job: StoredJob) {
        if runs[job.id]?.remove(run) != nil { runCount -= 1 }
        if runs[job.id]?.isEmpty == true { runs[job.id] = nil }
        forgetIfIdle(job)
    }

    private func forgetIfIdle(_ job: StoredJob) {
        guard runs[job.id] == nil, waitingFires[job.id] == nil else { return }
        busy.forget(job.id)
    }

    /// A run of the job is over: what waited for that goes on.
    func runsChanged(of job: JobID) {
        if isRecovered {
            for fire in waitingFires[job, default: []].sorted() where waiting[fire]?.timer == nil {
                armWaiting(fire)
            }
        }
        guard !isBusy(job) else { return }
        if let fire = queuedFire(of: job) {
            startWaiting(fire)
        } else if armed[job]?.timer == nil {
            // A date that is made up for may have waited for this.
            timerFired(job)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What one write does to runs.
extension JobTransaction {
    /// Stores that the fire's command is about to be started; after a crash it counts as perhaps started.
    func prepareRun(of job: JobID, fire: FireID, attempt: Int, at place: RunPlace) throws -> RunID {
        try fires.markRunning(fire)
        return try runs.insert(of: job, fire, attempt: attempt, at: place)
    }

    /// Makes a fire whose command was about to be started, and was not, a claim again.
    func releaseRun(of fire: FireID) throws {
        try fires.markClaimed(fire)
        try runs.delete(of: fire)
    }

    /// Records that the run's process exists.
    mutating func recordStarted(
        _ run: RunID,
        of fire: CommandFire,
        _ pid: Int32,
        at date: Timestamp
    ) throws {
        try runs.markStarted(run, pid: pid, at: date)
        if fire.attempt == 1, fire.handler == nil, !fire.isByHand {
            try noteBegin(
                fire.id,
                of: fire.job,
                fireDate: fire.fireDate,
                dueBy: fire.dueBy,
                at: date,
                run: run
            )
        }
        let reason = fire.isByHand ? FireReason.manual.rawValue : nil
        try enqueue(.runStarted, fire.job, reason, fire: fire.id, run: run) {
            $0.at = date
            ($0.fireDate, $0.dueBy) = (fire.fireDate, fire.dueBy)
            $0.attempt = fire.handler == nil ? fire.attempt : nil
            $0.handler = fire.handler
        }
    }

    /// Records how many processes of a run in progress its timeout could not end.
    func recordSurvivors(_ count: Int, of run: RunID) throws {
        try runs.markSurvivors(run, count)
    }

    /// Records how a run ended and what follows it, and removes the job's oldest runs beyond those that are kept.
    mutating func recordFinished(
        _ run: RunID,
        of job: StoredJob,
        _ ended: EndedRun,
        next: RetryDecision = .done
    ) throws {
        // A job that was invalidated meanwhile, or has no command any more, begins nothing more.
        let isFollowed = try next != .done && beginsCommands(job.id)
        if next != .done, !isFollowed { outcome.closed.append(ended.fire) }
        let follows = isFollowed ? next : .done
        let isTriedAgain = if case .retry = follows { true } else { false }
        // A command's is stored in any case: these are timerd's own words.
        if let error = ended.outcome.columns.error {
            _ = try makeRoom(forReason: error, of: job)
        }
        try markEnded(run, of: job, ended, isLast: !isTriedAgain)
        switch follows {
        case .done: try fires.markDone(ended.fire)
        case .retry(let delay):
            try fires.markWaiting(ended.fire, for: .retry, until: moment.wall + delay)
        case .handle(let handler): try fires.markWaiting(ended.fire, for: handler.wait, until: nil)
        }
        if !isTriedAgain { try noteEnd(run, of: job, ended) }
        if try runs.insertOutput(ended, of: run, owner: job.ownerID) { try checkQuota(of: job) }
        try tellEnd(of: run, of: job, ended)
    }

    /// Records how an attempt at a task has ended, whose fire goes its own way; `isLast`: none follows it by itself.
    mutating func recordEnd(
        of run: RunID,
        ofTask job: StoredJob,
        _ ended: EndedRun,
        isLast: Bool
    ) throws {
        try markEnded(run, of: job, ended, isLast: isLast)
        if isLast { try noteEnd(run, of: job, ended) }
        outcome.tasks.over.append(run)
        try tellEnd(of: run, of: job, ended)
    }

    /// `isLast`: whether no attempt follows by itself.
    private func markEnded(_ run: RunID, of job: StoredJob, _ ended: EndedRun, isLast: Bool) throws
    {
        let hasFailed = job.policy.run.isFailure(ended.outcome, of: ended.handler)
        try runs.markFinished(run, ended, failureOf: hasFailed ? job.ownerID : nil)
        if hasFailed, isLast, ended.handler == nil { try fires.markFailed(ended.fire) }
    }

    private mutating func tellEnd(of run: RunID, of job: StoredJob, _ ended: EndedRun) throws {
        if let runsKept {
            try runs.trim(
                job.id,
                keeping: runsKept.rows(of: job.policy),
                hasHandlers: RunHandler.allCases.contains {
                    runDefaults.command(of: $0, for: job.definition) != nil
                }
            )
        }
        let (outcome, code, error) = ended.outcome.columns
        try enqueue(.runFinished, job, fire: ended.fire, run: run) {
            $0.fireDate = ended.fireDate
            $0.attempt = ended.handler == nil ? ended.attempt : nil
            $0.handler = ended.handler
            $0.outcome = outcome
            $0.status = outcome == .exited ? code : nil
            $0.signal = outcome == .signalled ? code : nil
            $0.reason = error
        }
        if error != nil { try checkQuota(of: job) }
    }
}

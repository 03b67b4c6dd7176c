// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What the record of a run's end has decided.
struct FinishedRun: Sendable {
    /// What follows it.
    var next: RetryDecision
    /// The job by which that was decided.
    var job: StoredJob
}

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
        let job = try asStored(fire.job)
        if fire.attempt == 1, fire.handler == nil, !fire.isByHand {
            try noteBegin(
                fire.id,
                of: job,
                fireDate: fire.fireDate,
                dueBy: fire.dueBy,
                at: date,
                run: run
            )
        }
        let reason = fire.isByHand ? FireReason.manual.rawValue : nil
        try enqueue(.runStarted, job, reason, fire: fire.id, run: run) {
            $0.at = date
            ($0.fireDate, $0.dueBy) = (fire.fireDate, fire.dueBy)
            $0.attempt = fire.handler == nil ? fire.attempt : nil
            $0.handler = fire.handler
        }
    }

    /// Records how many processes of a run in progress those who end it could not end.
    func recordSurvivors(_ count: Int, of run: RunID) throws {
        try runs.markSurvivors(run, count)
    }

    /// Stores the next parts of what a run has written, whose end is recorded behind all of them; returns the others.
    mutating func recordOutput(_ parts: OutputParts, of run: RunID, of job: StoredJob) throws
        -> OutputParts
    {
        var rest = parts
        let first = (0..<OutputPart.storedAtOnce).compactMap { _ in rest.next() }
        try runs.insertOutput(first, from: parts.number, of: run, owner: job.ownerID)
        try checkQuota(of: job)
        return rest
    }

    /// Records how a run ended and what follows it, and removes the job's oldest runs beyond those that are kept.
    ///
    /// All of that goes by the job as it is now; `begun` is the job as it was when the run began.
    /// - Returns: what follows, for the scheduler to go on with.
    @discardableResult
    mutating func recordFinished(_ run: RunID, of begun: StoredJob, _ ended: EndedRun) throws
        -> FinishedRun
    {
        let job = try asStored(begun)
        let next = try decision(after: ended, run, of: job)
        let isTriedAgain = if case .retry = next { true } else { false }
        // This makes room and refuses nothing: the error is timerd's own words, and is stored in any case.
        if let error = ended.error {
            _ = try makeRoom(forReason: error, of: job)
        }
        // An interrupted run that `rerunInterrupted` makes up for has not failed.
        let isRunAgain =
            isTriedAgain && ended.outcome == .interrupted
            && job.definition.rerunInterrupted == true
        let hasFailed = try markEnded(
            run,
            of: job,
            ended,
            isLast: !isTriedAgain,
            isRunAgain: isRunAgain
        )
        switch next {
        case .done: try fires.markDone(ended.fire)
        case .retry(let delay):
            try fires.markWaiting(ended.fire, for: .retry, until: moment.wall + delay)
        case .handle(let handler): try fires.markWaiting(ended.fire, for: handler.wait, until: nil)
        }
        if !isTriedAgain { try noteEnd(run, of: job, ended) }
        if try !ended.isOutputStored && runs.insertOutput(ended, of: run, owner: job.ownerID) {
            try checkQuota(of: job)
        }
        try tellEnd(of: run, of: job, ended, hasFailed: hasFailed)
        return FinishedRun(next: next, job: job)
    }

    /// The job as it is now, which may have been changed since `begun` was read; `begun` where it cannot be read.
    private func asStored(_ begun: StoredJob) throws -> StoredJob {
        guard try jobs.definitionRevision(of: begun.id) != begun.definitionRevision,
            let job = try job(begun.id), job.unread == nil
        else { return begun }
        return job
    }

    /// What follows a run that is in state `running`, of the job as it is now.
    private func decision(after ended: EndedRun, _ run: RunID, of job: StoredJob) throws
        -> RetryDecision
    {
        let before = try ended.attempt > 1 ? runs.failures(of: ended.fire) : 0
        func decide(mayBegin: Bool = true) -> RetryDecision {
            RetryDecision(
                after: ended,
                failures: before + 1,
                job: job,
                defaults: terms.runDefaults,
                mayBegin: mayBegin
            )
        }
        let next = decide()
        // A job that was invalidated meanwhile, or has no command any more, begins nothing more.
        guard next != .done, !job.isCommandless, try !jobs.isInvalidated(job.id)
        else { return .done }
        guard case .retry = next else { return next }
        // No further attempt either if the job has another command now, or if the run was about to be told to end as it ended
        // by itself.
        let isLast = try fires.isOvertaken(ended.fire) || runs.isStopped(run)
        return isLast ? decide(mayBegin: false) : next
    }

    /// Records how an attempt at a task has ended, whose fire goes its own way; `isLast`: none follows it by itself.
    ///
    /// `closes`: none follows because the task is over with this end: it was taken away, or its job has ended. Then the fire
    /// has failed, and nobody is told of a failure.
    mutating func recordEnd(
        of run: RunID,
        ofTask job: StoredJob,
        _ ended: EndedRun,
        isLast: Bool,
        closes: Bool
    ) throws {
        let hasFailed = try markEnded(run, of: job, ended, isLast: isLast || closes)
        if isLast { try noteEnd(run, of: job, ended) }
        outcome.tasks.over.append(run)
        try tellEnd(of: run, of: job, ended, hasFailed: hasFailed)
    }

    /// `isLast`: no attempt follows; `isRunAgain`: an attempt follows that is no retry.
    /// - Returns: whether it ended as a failure.
    private func markEnded(
        _ run: RunID,
        of job: StoredJob,
        _ ended: EndedRun,
        isLast: Bool,
        isRunAgain: Bool = false
    ) throws -> Bool {
        let hasFailed =
            !isRunAgain && job.policy.run.isFailure(ended.outcome, of: ended.handler)
        try runs.markFinished(run, ended, failureOf: hasFailed ? job.ownerID : nil)
        guard isLast, ended.handler == nil else { return hasFailed }
        let isWithdrawn = ended.outcome == .withdrawn
        // Attempts before one that was withdrawn have failed.
        if hasFailed || isWithdrawn && ended.attempt > 1 {
            try fires.markFailed(ended.fire)
        } else if isWithdrawn {
            try fires.markNotBegun(ended.fire)
        }
        return hasFailed
    }

    private mutating func tellEnd(
        of run: RunID,
        of job: StoredJob,
        _ ended: EndedRun,
        hasFailed: Bool
    ) throws {
        try trimRuns(of: job)
        let (outcome, code, _) = ended.outcome.columns
        try enqueue(.runFinished, job, fire: ended.fire, run: run) {
            $0.fireDate = ended.fireDate
            $0.attempt = ended.handler == nil ? ended.attempt : nil
            $0.handler = ended.handler
            $0.outcome = outcome
            $0.status = outcome == .exited ? code : nil
            $0.signal = outcome == .signalled ? code : nil
            $0.reason = ended.error
            $0.failed = hasFailed
        }
        if ended.error != nil { try checkQuota(of: job) }
    }

    /// Removes the job's oldest runs beyond those that are kept.
    ///
    /// Of a job with many that stay, because their fires are not over, one end looks at a few; the next one goes on behind
    /// them.
    private func trimRuns(of job: StoredJob) throws {
        guard let runsKept = terms.runsKept else { return }
        let place = terms.trimPlaces?.run(of: job.id) ?? RunStore.trimStart
        let next = try runs.trim(
            job.id,
            keeping: runsKept.rows(of: job.policy),
            hasHandlers: RunHandler.allCases.contains {
                terms.runDefaults.command(of: $0, for: job.definition) != nil
            },
            behind: place
        )
        if next != place { terms.trimPlaces?.set(next, of: job.id) }
    }
}

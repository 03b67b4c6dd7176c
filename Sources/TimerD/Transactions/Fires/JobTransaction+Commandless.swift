// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

extension StoredJob {
    /// Whether it is an event, or of a queue: neither a command of it begins, nor a handler, which is of a command.
    ///
    /// What a job is that cannot be read is not known.
    var isCommandless: Bool { unread == nil && definition.command == nil }
}

/// Fires that had a command, of a job that has become an event, or one of a queue, since, or has another command.
extension JobTransaction {
    /// Whether anything of the job's fires may begin: not once it was invalidated, or has no command any more.
    func beginsCommands(_ id: JobID) throws -> Bool {
        if try jobs.isInvalidated(id) { return false }
        return try jobs.jobWithoutUserInfo(id, of: nil)?.isCommandless != true
    }

    /// Sees to the fires that are open of a job which had `old` until now, and has another command since, or none.
    ///
    /// Without a command none of them can begin. With another one those that have not begun do, but no fire has a further
    /// attempt: it has failed. Runs in progress go on; what would follow their ends does not, see `recordFinished`.
    mutating func closeOvertaken(of job: inout StoredJob, was old: JobDefinition) throws {
        if old.command != job.definition.command { try fires.markOvertaken(of: job.id) }
        if job.isCommandless {
            let begun = try fires.begun(of: job.id, sparingHandlers: false)
            let waiting = begun.filter { $0.state == .waiting }.map(\.fire)
            try drop(waiting, of: &job, for: .changed)
            outcome.closed += waiting
        } else if old.command != job.definition.command {
            let waiting = try fires.dropAttempts(of: job.id)
            for fire in waiting.prefix(Self.droppedAtOnce) { try closeWaiting(fire, of: &job) }
            leave(waiting.dropFirst(Self.droppedAtOnce), of: job)
            outcome.closed += waiting
        }
    }

    /// Closes a fire that has begun, and whose next attempt, or handler, was to come after `last`.
    ///
    /// `isForGood`: nobody has ended it; so it is told where it has failed. `isHandled`: its job's handler of that begins then.
    mutating func close(
        _ fire: FireID,
        after last: Run,
        of job: StoredJob,
        isForGood: Bool,
        isHandled: Bool
    ) throws {
        let isInterrupted =
            last.outcome == .interrupted && last.stopped != true && last.failed != true
        // It was to be run again, and is not.
        if isInterrupted, let run = last.id { try runs.markFailed(run, of: job.ownerID) }
        let hasFailed = last.failed == true || isInterrupted
        if hasFailed { try fires.markFailed(fire) }
        guard hasFailed, isForGood else { return try fires.markDone(fire) }
        try noteFailedForGood(last, of: job)
        let mayBegin =
            isHandled && !job.isCommandless && job.state != .invalidated && job.unread == nil
        guard mayBegin, terms.runDefaults.command(of: .onFailure, for: job.definition) != nil,
            let left = try fires.left(fire)
        else { return try fires.markDone(fire) }
        try fires.markWaiting(fire, for: .onFailure, until: nil)
        var job = job
        try readUserInfo(of: &job)
        var next = left.commandFire(of: job)
        (next.attempt, next.handler) = (last.attempt ?? 1, .onFailure)
        next.isLate = next.isLate(at: moment)
        outcome.handled.append(next)
    }

    /// Stores who is to be told that a fire has failed for good with `last`, whose next attempt was still to come.
    mutating func noteFailedForGood(_ last: Run, of job: StoredJob) throws {
        guard NoticeRules(job.policy.notices, terms.noticeDefaults).concernsRuns, let run = last.id,
            let outcome = RunOutcome(of: last), let endedAt = last.endedAt
        else { return }
        var ended = EndedRun(
            fire: last.fire,
            fireDate: last.fireDate,
            attempt: last.attempt ?? 1,
            outcome: outcome,
            startedAt: last.startedAt,
            endedAt: endedAt,
            output: try outputEnd(of: run)
        )
        ended.reason = last.error
        // It failed by the rules of then, whatever the present ones would say of its status.
        try noteEnd(run, of: job, ended, hasFailed: true)
    }

    /// As much of a run's output as a notice may tell.
    private func outputEnd(of run: RunID) throws -> CapturedOutput {
        let queries = Queries(database)
        let all = OutputPosition(stdout: .max, stderr: .max)
        let written = try queries.output(of: run, after: all)
        // One more, by which it is seen that the end is not all.
        let most = Int64(NoticeDocument.outputLimit + 1)
        let start = OutputPosition(
            stdout: max(0, written.stdout.bytes - most),
            stderr: max(0, written.stderr.bytes - most)
        )
        var output = CapturedOutput()
        for piece in try queries.output(of: run, after: start).pieces {
            switch piece.stream {
            case .stdout: output.stdout += piece.bytes
            case .stderr: output.stderr += piece.bytes
            }
        }
        return output
    }
}

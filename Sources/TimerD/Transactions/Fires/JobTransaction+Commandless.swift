// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

extension StoredJob {
    /// Whether the job is an event, or of a queue: it begins no command, and so no handler of one.
    ///
    /// False for a job that cannot be read: nobody knows what it is.
    var isCommandless: Bool { unread == nil && definition.command == nil }
}

/// Open fires of a job that had a command and was changed since: to another command, to an event, or to a job of a queue.
extension JobTransaction {
    /// Whether anything of the job's fires may begin: not once it was invalidated, or has no command any more.
    func beginsCommands(_ id: JobID) throws -> Bool {
        if try jobs.isInvalidated(id) { return false }
        return try jobs.jobWithoutUserInfo(id, of: nil)?.isCommandless != true
    }

    /// Sees to the open fires of a job that was `old` until now and has another command now, or none.
    ///
    /// If it has no command, none of them begins. If it has another command, the fires that have not begun will begin with
    /// that one; a fire that waits for its next attempt has failed. Runs in progress go on, and nothing follows their ends:
    /// see `recordFinished`.
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
    /// `isForGood`: nobody has ended the fire, so its failure is told. `isHandled`: if it has failed, the job's `onFailure`
    /// begins.
    mutating func close(
        _ fire: FireID,
        after last: Run,
        of job: StoredJob,
        isForGood: Bool,
        isHandled: Bool
    ) throws {
        let isInterrupted =
            last.outcome == .interrupted && last.stopped != true && last.failed != true
        // An interrupted run that was to be run again, and is not, has failed.
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
        // It has failed by the job's options of that time, whatever the present ones say of its status.
        try noteEnd(run, of: job, ended, hasFailed: true)
    }

    /// As much of a run's output as a notice may tell.
    private func outputEnd(of run: RunID) throws -> CapturedOutput {
        let queries = Queries(database)
        let all = OutputPosition(stdout: .max, stderr: .max)
        let written = try queries.output(of: run, after: all)
        // One byte more shows the notice that this is only the end of the output.
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

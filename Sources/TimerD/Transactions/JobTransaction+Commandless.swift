// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

extension StoredJob {
    /// Whether it is an event, or of a queue: neither a command of it begins, nor a handler, which is of a command.
    ///
    /// What a job is that cannot be read is not known.
    var isCommandless: Bool { unread == nil && definition.command == nil }
}

/// Fires that had a command, of a job that has become an event, or one of a queue, since.
extension JobTransaction {
    /// Whether anything of the job's fires may begin: not once it was invalidated, or has no command any more.
    func beginsCommands(_ id: JobID) throws -> Bool {
        if try jobs.isInvalidated(id) { return false }
        return try jobs.jobWithoutUserInfo(id, of: nil)?.isCommandless != true
    }

    /// Closes the fires that wait of a job which has no command any more: none of them can begin.
    ///
    /// Runs in progress go on; what would follow their ends does not, see `recordFinished`.
    mutating func closeIfCommandless(_ job: inout StoredJob) throws {
        guard job.isCommandless else { return }
        let begun = try fires.begun(of: job.id, sparingHandlers: false)
        let waiting = begun.filter { $0.state == .waiting }.map(\.fire)
        try drop(waiting, of: &job, for: .changed)
        outcome.closed += waiting
    }

    /// Stores who is to be told that a fire has failed for good with `last`, whose next attempt was still to come.
    mutating func noteFailedForGood(_ last: Run, of job: StoredJob) throws {
        guard NoticeRules(job.policy.notices, noticeDefaults).concernsRuns, let run = last.id,
            let outcome = RunOutcome(of: last), let endedAt = last.endedAt
        else { return }
        let ended = EndedRun(
            fire: last.fire,
            fireDate: last.fireDate,
            attempt: last.attempt ?? 1,
            outcome: outcome,
            startedAt: last.startedAt,
            endedAt: endedAt,
            output: try outputEnd(of: run)
        )
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

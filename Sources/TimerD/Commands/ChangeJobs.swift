// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Schedules
import TimerControl

extension CommandHandler {
    /// `job.invalidate`: ends the jobs for good, and their runs too if asked to.
    func invalidateJobs(_ request: InvalidateJobs, _ caller: Caller) async throws -> Answer {
        if caller.isAlone, !request.kill, case .ids(let ids) = request.jobs,
            let changed = try await scheduler.invalidateIdle(ids, caller: caller)
        {
            return reply(changed)
        }
        return try await scheduler.detour(of: caller) { try await invalidate(request, caller) }
    }

    private func invalidate(_ request: InvalidateJobs, _ caller: Caller) async throws -> Answer {
        reply(
            try await scheduler.change(
                request.jobs,
                .invalidate,
                caller: caller,
                kill: request.kill
            )
        )
    }

    /// `job.pause`, `job.resume`, `job.skip`: all that are named, or none.
    func changeJobs(_ selection: JobSelection, _ change: JobChange, _ caller: Caller) async throws
        -> Answer
    {
        reply(try await scheduler.change(selection, change, caller: caller))
    }

    /// `job.restore`: undoes an invalidation, of all that are named or of none.
    func restoreJobs(_ selection: JobSelection?, _ caller: Caller) async throws -> Answer {
        if let selection {
            return reply(try await scheduler.restore(selection, caller: caller))
        }
        let last = try await lastEnded(by: caller)
        do {
            return reply(try await scheduler.restore(last, caller: caller))
        } catch var error as ControlError where [.conflict, .nameTaken].contains(error.reason) {
            // As it may be refused so for a day.
            error.message += "; 'timerctl undo JOB...' brings back others"
            throw error
        }
    }

    /// What the caller's last request to end jobs has ended.
    ///
    /// Looks at the jobs that have ended since, in pieces: others' reads come in between.
    private func lastEnded(by caller: Caller) async throws -> JobSelection {
        let now = clock.now().wall
        var last: Queries.End?
        var cursor: EndedCursor? = .last
        while let after = cursor {
            let piece = try await read(for: caller) { queries in
                try queries.lastEnd(
                    by: caller.uid,
                    of: try queries.id(of: caller.onlyOwner),
                    since: now - JobTransaction.undoable,
                    at: now,
                    after: after,
                    limit: 1000
                )
            }
            for end in piece.ends where last.map({ end.number > $0.number }) ?? true { last = end }
            // What has ended at a date to come was ended by a clock that was ahead: others may have ended since.
            let isFound = piece.ends.last.map { $0.endedAt <= now } ?? false
            cursor = isFound ? nil : piece.next
        }
        if let date = last?.endedAt {
            return .ids(try await read(for: caller) { try $0.ended(by: caller.uid, at: date) })
        }
        throw ControlError(
            .notFound,
            "there is nothing to undo: no job that is kept was invalidated by '\(caller.owner.name)' "
                + "in the last 24 h"
        )
    }

    /// `maintenance.begin`, `maintenance.end`: of the caller, or of the user that an administrator names.
    func maintain(_ owner: String?, _ change: JobChange, _ caller: Caller) async throws -> Answer {
        let owner = JobSelection.owner(owner ?? caller.owner.name)
        return try await changeJobs(owner, change, caller)
    }

    /// The jobs that fit into a reply, and only the numbers of the others.
    private func reply(_ changed: ChangedJobs) -> JobsReply {
        JobsReply(jobs: view(Array(changed.jobs.prefix(changed.told))), others: changed.untold)
    }

    /// `job.setFireDate`: moves a one-shot or a grid as a whole; of other schedules only the next fire.
    func setFireDate(_ request: SetFireDate, _ caller: Caller) async throws -> Answer {
        let now = clock.now().wall
        let (date, note) = try reading(request.fireDate) { text throws(ScheduleError) in
            try DateExpression.parse(text, now: now, zone: .local)
        }
        // Whatever the job's misfire policy says: it is of dates that its schedule had.
        try requireNotMissed(
            date,
            MisfirePolicy(),
            now: now,
            advice: "accepted is a date that is to come; 'timerctl fire' fires a job now"
        )
        let jobs = try await scheduler.change(
            JobSelection(request.job),
            .setFireDate(date, from: request.from),
            caller: caller
        )
        guard let job = view(jobs.jobs).first else { throw ControlError.vanished }
        return JobReply(job: job, notes: note.map { [$0] })
    }

    /// `job.fire`: fires the job now, whatever its schedule says.
    func fireJob(_ reference: JobReference, _ caller: Caller) async throws -> Answer {
        let (job, fire) = try await scheduler.fire(reference, caller: caller)
        return FireReply(job: view(job), fire: fire)
    }
}

extension ControlError {
    /// A bug of the daemon: no request can cause it.
    static let vanished = Self(.internalError, "the job that was changed is not there")
}

/// Reads `text`, and tells a refusal in the words of the control protocol.
func reading<T>(
    _ text: String,
    _ read: (String) throws(ScheduleError) -> T
) throws(ControlError) -> T {
    do {
        return try read(text)
    } catch {
        throw ControlError(error)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

extension Scheduler {
    /// Adds `jobs`, all or none; returns them once they are stored and armed.
    ///
    /// Their processes are held by `targets`; where this throws, the caller releases them.
    func add(_ jobs: [NewJob], replace: Bool, caller: Caller) async throws -> [StoredJob] {
        let names = replace ? jobs.compactMap(\.definition.name) : []
        return try await holding(names.map { .name($0) }, caller: caller) { scheduler in
            // Root may do what the limit keeps others from.
            let limit = caller.uid == 0 ? nil : scheduler.settings.maxJobsPerUser
            let unstarted = Set(
                names.flatMap { name in
                    scheduler.armed.unstartedFires(of: .name(name), caller: caller)
                }
            )
            return try await scheduler.write { writer in
                try writer.add(jobs, replace: replace, limit: limit, unstarted: unstarted)
            } durable: { scheduler, added in
                // Before anything else is known of them, as that they have ended.
                for (new, job) in zip(jobs, added) {
                    guard let process = new.process else { continue }
                    scheduler.tie(job.id, to: process, of: new.owner.uid)
                }
            }
        }
    }

    /// Ends, changes and adds jobs, all or none; returns them once that is stored and armed.
    ///
    /// With `isDryRun` all of it is undone again: what is returned is what would have been.
    func apply(_ changes: JobChanges, isDryRun: Bool, caller: Caller) async throws
        -> AppliedChanges
    {
        try await holding([changes.touched], caller: caller) { scheduler in
            let limit = caller.uid == 0 ? nil : scheduler.settings.maxJobsPerUser
            let unstarted = Set(
                scheduler.armed.unstartedFires(of: changes.touched, caller: caller)
            )
            do {
                return try await scheduler.write { writer in
                    let applied = try writer.apply(
                        changes,
                        limit: limit,
                        caller: caller,
                        unstarted: unstarted
                    )
                    if isDryRun { throw Undone(applied: applied) }
                    return applied
                }
            } catch let undone as Undone {
                return undone.applied
            }
        }
    }

    /// Changes what `selection` names, all or none; returns the jobs as they stand.
    ///
    /// No fire of them begins from here to the answer; after an invalidation, none ever.
    func change(_ selection: JobSelection, _ change: JobChange, caller: Caller) async throws
        -> [StoredJob]
    {
        try await holding([selection], caller: caller) { scheduler in
            let unstarted = Set(
                scheduler.armed.unstartedFires(of: selection, caller: caller)
            )
            var busy: Set<JobID> = []
            if case .invalidate = change, let word = selection.word(of: caller) {
                busy = scheduler.busy[word]
            }
            return try await scheduler.write { [busy] writer in
                try writer.change(
                    selection,
                    change,
                    caller: caller,
                    unstarted: unstarted,
                    busy: busy
                )
                return writer.outcome.jobs
            }
        }
    }

    /// Fires a job now; returns it, and the fire, once that is stored and in the loop.
    func fire(_ reference: JobReference, caller: Caller) async throws -> (StoredJob, FireID) {
        let selection = JobSelection(reference)
        return try await holding([selection], caller: caller) { scheduler in
            let unstarted = Set(
                scheduler.armed.unstartedFires(of: selection, caller: caller)
            )
            let busy = scheduler.busyJobs(reference, caller: caller)
            let fired = try await scheduler.write { writer in
                let id = try writer.resolve(reference, caller: caller)
                return try writer.fireNow(
                    id,
                    caller: caller,
                    unstarted: unstarted,
                    busy: busy[id]
                )
            } durable: { scheduler, fired in
                scheduler.fireByHand(fired)
            }
            return (fired.job, fired.fire)
        }
    }

    /// What is in progress of the job that is meant; where only the store knows which one that is, of
    /// those that have borne the name.
    private func busyJobs(_ reference: JobReference, caller: Caller) -> [JobID: BusyJob] {
        let candidates: Set<JobID> =
            switch reference {
            case .id(let id): [id]
            case .name(let name):
                self.busy[OwnedWord(owner: caller.owner, kind: .name, word: name)]
            }
        var jobs: [JobID: BusyJob] = [:]
        for job in candidates where isBusy(job) {
            jobs[job] = BusyJob(run: runs[job]?.min(), isQueued: queuedFire(of: job) != nil)
        }
        return jobs
    }

    /// Takes the timers of what the selections name out of the loop, runs `body`, and puts back
    /// those of the jobs that are still to fire.
    private func holding<T: Sendable>(
        _ selections: [JobSelection],
        caller: Caller,
        _ body: (isolated Scheduler) async throws -> T
    ) async throws -> T {
        guard !isStopping else {
            throw ControlError(.stopping, "the daemon is stopping; try again once it is back")
        }
        for selection in selections {
            holds.hold(selection, caller: caller)
            for id in armed.ids(of: selection, caller: caller) { armed.stopTimer(of: id) }
        }
        defer {
            for selection in selections { holds.release(selection, caller: caller) }
            for selection in selections {
                for id in armed.ids(of: selection, caller: caller) { arm(id) }
            }
        }
        return try await body(self)
    }
}

/// Thrown out of a write to have it undone.
private struct Undone: Error {
    var applied: AppliedChanges
}

extension JobSelection {
    init(_ reference: JobReference) {
        switch reference {
        case .id(let id): self = .ids([id])
        case .name(let name): self = .name(name)
        }
    }
}

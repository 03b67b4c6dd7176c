// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Which jobs a request means.
extension JobTransaction {
    /// The id of a job that the caller may see; a name means one of the caller's own jobs, also for root.
    ///
    /// - Throws: `notFound`, in the same words for a job of somebody else.
    func resolve(_ reference: JobReference, caller: Caller) throws -> JobID {
        switch reference {
        case .id(let id):
            guard try job(id, for: caller) != nil else { throw ControlError.noJob(id) }
            return id
        case .name(let name):
            let own = try owners.id(of: caller.owner)
            guard let id = try jobs.id(named: name, owner: own) else {
                throw ControlError.noJob(named: name)
            }
            return id
        }
    }

    /// Jobs that have finished and of which a task is not over: by name the newest that had it.
    func finishedWithTasks(_ selection: JobSelection, _ caller: Caller) throws -> [JobID] {
        let own = try owners.id(of: caller.owner)
        switch selection {
        case .ids, .owner: return []
        case .tag(let tag): return try tasks.finishedJobs(tagged: tag, owner: own)
        case .name(let name):
            return [try tasks.finishedJob(named: name, owner: own)].compactMap(\.self)
        }
    }

    /// The jobs that are meant, which live; of `busy` those that have finished, by tag or name.
    func resolve(_ selection: JobSelection, caller: Caller, busy: Set<JobID>) throws
        -> [JobID]
    {
        // A job's tags may have changed since its fire began: the stored ones count.
        let finished = try busy.sorted().filter { id in
            guard let job = try job(id), let word = selection.word(of: caller) else { return false }
            return job.state == .finished
                && (job.ownedName == word || job.ownedTags.contains(word))
        }
        let own = try owners.id(of: caller.owner)
        switch selection {
        case .ids(let ids): return ids
        case .tag(let tag):
            return try jobs.liveIDs(tagged: tag, owner: own) + finished
        case .owner(let words):
            let meant = try owners.meant(by: words, caller)
            guard !meant.isEmpty || caller.owner.isMeant(by: words) else {
                throw ControlError(
                    .notFound,
                    "'\(words)' has added no job; 'timerctl list --all' shows each job's owner to root"
                )
            }
            return try meant.flatMap { try jobs.liveIDs(of: $0.id) }
        case .name(let name):
            let live = try jobs.id(named: name, owner: own)
            guard live != nil || !finished.isEmpty else { throw ControlError.noJob(named: name) }
            return [live].compactMap(\.self) + finished
        }
    }
}

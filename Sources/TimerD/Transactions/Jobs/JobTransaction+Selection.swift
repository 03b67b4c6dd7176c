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
                throw try noLiveJob(named: name, own, caller)
            }
            return id
        }
    }

    /// Jobs that have ended and of which a task is not over: by name the newest that had it.
    ///
    /// `kill`: also those that were invalidated, whose workers still have them; and those of a user.
    private func endedWithTasks(_ selection: JobSelection, kill: Bool, _ caller: Caller) throws
        -> [JobID]
    {
        let own = try owners.id(of: caller.owner)
        switch selection {
        case .ids: return []
        case .owner(let words):
            guard kill else { return [] }
            return try owners.meant(by: words, caller).flatMap { try tasks.endedJobs(of: $0.id) }
        case .tag(let tag):
            return try tasks.endedJobs(tagged: tag, owner: own, isRevoking: kill)
        case .name(let name):
            return [try tasks.endedJob(named: name, owner: own, isRevoking: kill)]
                .compactMap(\.self)
        }
    }

    /// The jobs that are meant.
    ///
    /// They live; but an end takes by tag or name also those that have finished and of which something is in progress, as
    /// `busy` says, or a task is not over; with `kill` those that were invalidated as well, and such of a user.
    func resolve(
        _ selection: JobSelection,
        for change: JobChange,
        kill: Bool,
        busy: Set<JobID>,
        caller: Caller
    ) throws -> [JobID] {
        if case .ids(let ids) = selection { return ids }
        let isEnd = if case .invalidate = change { true } else { false }
        let own = try owners.id(of: caller.owner)
        let ended = isEnd ? try ended(selection, kill: kill, busy: busy, caller) : []
        switch selection {
        case .ids(let ids): return ids
        case .tag(let tag):
            let ids = try jobs.liveIDs(tagged: tag, owner: own) + ended
            // To end what has ended already is fine; a tag that no job ever had is a mistake.
            guard try !ids.isEmpty || isEnd && jobs.hasTag(tag, owner: own) else {
                throw ControlError.noJob(tagged: tag)
            }
            return ids
        case .owner(let words):
            let meant = try owners.meant(by: words, caller)
            guard !meant.isEmpty || caller.owner.isMeant(by: words) else {
                throw ControlError.noJobs(of: words)
            }
            return try meant.flatMap { try jobs.liveIDs(of: $0.id) } + ended
        case .name(let name):
            let ids = [try jobs.id(named: name, owner: own)].compactMap(\.self) + ended
            guard !ids.isEmpty else { throw try noLiveJob(named: name, own, caller) }
            return ids
        }
    }

    /// The refusal of a name that no live job has; an ended one may have had it.
    private func noLiveJob(named name: String, _ owner: OwnerID, _ caller: Caller) throws
        -> ControlError
    {
        // Its state is all that is told.
        let last = try jobs.newestID(named: name, owner: owner)
            .flatMap { try jobs.jobWithoutUserInfo($0, of: owner) }
        return ControlError.noLiveJob(named: name, last: last, caller)
    }

    private func ended(
        _ selection: JobSelection,
        kill: Bool,
        busy: Set<JobID>,
        _ caller: Caller
    ) throws -> [JobID] {
        if case .owner = selection, !kill { return [] }
        let word = selection.word(of: caller)
        let all = busy.union(try endedWithTasks(selection, kill: kill, caller))
        return try all.sorted().filter { id in
            guard let job = try job(id), job.state == .finished || kill && job.state == .invalidated
            else { return false }
            // A job's tags may have changed since its fire began: the stored ones count.
            guard let word else { return true }
            return job.ownedName == word || job.ownedTags.contains(word)
        }
    }
}

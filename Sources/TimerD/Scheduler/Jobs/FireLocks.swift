// SPDX-License-Identifier: Apache-2.0

import Platform
import Schedules
import TimerControl

/// The jobs that a change is under way for: no fire of theirs may begin; pure.
///
/// Only the store knows all jobs of a tag or a user. So a job that a window load brings meanwhile is compared
/// with the words of the changes. The cost of `covers` does not depend on how many changes there are.
struct FireLocks: Sendable {
    private var byWord: [OwnedWord: Int] = [:]
    private var byID: [Held: Int] = [:]
    private var byOwner: [Owner: Int] = [:]
    /// By the words in which an administrator names a user.
    private var byUser: [String: Int] = [:]
    /// Pending clock-set-back writes; wall jobs do not fire while above 0.
    private var wallHolds = 0
    /// The rules of zones that are over: jobs by them are on their way to others.
    var rules: Set<ZoneRulesID> = []

    /// A job's number as one caller named it: it holds nothing if the job is another user's.
    private struct Held: Hashable {
        var id: JobID
        /// Nil for an administrator, who may name the jobs of all users.
        var owner: Owner?
    }

    /// Holds what `selection` names; `release` ends it.
    mutating func hold(_ selection: JobSelection, caller: Caller) {
        change(selection, caller, by: 1)
    }

    mutating func release(_ selection: JobSelection, caller: Caller) {
        change(selection, caller, by: -1)
    }

    /// Holds all jobs of an owner; `release` ends it.
    mutating func hold(_ owner: Owner) { byOwner.count(1, of: owner) }

    mutating func release(_ owner: Owner) { byOwner.count(-1, of: owner) }

    /// Holds all jobs of the wall clock; `releaseWallJobs` ends it.
    mutating func holdWallJobs() { wallHolds += 1 }

    mutating func releaseWallJobs() { wallHolds -= 1 }

    func covers(_ job: StoredJob) -> Bool {
        if wallHolds > 0, job.clock == .wall { return true }
        if !rules.isEmpty, let own = job.rules, rules.contains(own) { return true }
        if !byID.isEmpty,
            byID[Held(id: job.id, owner: nil)] != nil
                || byID[Held(id: job.id, owner: job.owner)] != nil
        {
            return true
        }
        if !byOwner.isEmpty, byOwner[job.owner] != nil { return true }
        if !byUser.isEmpty,
            byUser[job.owner.name] != nil || byUser[String(job.owner.uid)] != nil
        {
            return true
        }
        guard !byWord.isEmpty else { return false }
        return job.ownedName.map { byWord[$0] != nil } ?? false
            || job.ownedTags.contains { byWord[$0] != nil }
    }

    private mutating func change(_ selection: JobSelection, _ caller: Caller, by change: Int) {
        if let word = selection.word(of: caller) { byWord.count(change, of: word) }
        if case .owner(let words) = selection {
            if caller.isAdministrator {
                byUser.count(change, of: words)
            } else if caller.owner.isMeant(by: words) {
                byOwner.count(change, of: caller.owner)
            }
        }
        guard case .ids(let ids) = selection else { return }
        for id in ids {
            byID.count(change, of: Held(id: id, owner: caller.onlyOwner))
        }
    }
}

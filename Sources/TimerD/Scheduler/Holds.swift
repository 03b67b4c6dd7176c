// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// The jobs that a change is under way for: none of them may begin to fire; pure.
///
/// A change may name its jobs in a way that only the store can resolve, so what a window load
/// brings meanwhile is checked against the change's own words.
struct Holds: Sendable {
    private var changes: [Int: (selection: JobSelection, caller: Caller)] = [:]
    private var byID: [Held: Int] = [:]
    private var last = 0
    /// How many times the wall jobs wait for the store to let them follow a clock that was set back.
    private var wallHolds = 0

    /// A number as one caller means it: a stranger's holds no job.
    private struct Held: Hashable {
        var id: JobID
        /// Nil for an administrator, who may mean the jobs of all.
        var owner: Owner?
    }

    /// Holds what `selection` names; `release` ends it.
    mutating func hold(_ selection: JobSelection, caller: Caller) -> Int {
        last += 1
        if case .ids(let ids) = selection {
            for id in ids { byID[Held(id: id, owner: caller.onlyOwner), default: 0] += 1 }
        } else {
            changes[last] = (selection, caller)
        }
        return last
    }

    mutating func release(_ hold: Int, _ selection: JobSelection, caller: Caller) {
        guard case .ids(let ids) = selection else {
            changes[hold] = nil
            return
        }
        for id in ids {
            let held = Held(id: id, owner: caller.onlyOwner)
            let count = byID[held, default: 1] - 1
            byID[held] = count > 0 ? count : nil
        }
    }

    /// Holds all jobs of the wall clock; `releaseWallJobs` ends it.
    mutating func holdWallJobs() { wallHolds += 1 }

    mutating func releaseWallJobs() { wallHolds -= 1 }

    func covers(_ job: StoredJob) -> Bool {
        wallHolds > 0 && job.clock == .wall || byID[Held(id: job.id, owner: nil)] != nil
            || byID[Held(id: job.id, owner: job.owner)] != nil
            || changes.values.contains { $0.selection.matches(job, by: $0.caller) }
    }
}

extension JobSelection {
    /// Whether it names `job`, as far as that can be told without the store.
    func matches(_ job: StoredJob, by caller: Caller) -> Bool {
        switch self {
        case .ids(let ids): ids.contains(job.id) && caller.owns(job)
        case .name(let name): job.definition.name == name && job.owner == caller.owner
        case .tag(let tag): job.definition.tags?.contains(tag) == true && job.owner == caller.owner
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// An owner's maintenance: all of its jobs are paused, also those that are added meanwhile, and go on as they were
/// at its end. What the owner pauses or resumes by hand in between stays as that left it.
extension JobTransaction {
    /// The jobs that the begin or the end of a maintenance concerns, once it is noted; nil for another change.
    ///
    /// - Throws: `notFound` and `notPermitted` as for any selection by owner.
    func idsInMaintenance(
        _ selection: JobSelection,
        _ change: JobChange,
        caller: Caller
    ) throws -> [JobID]? {
        let isBegin: Bool
        switch change {
        case .beginMaintenance: isBegin = true
        case .endMaintenance: isBegin = false
        default: return nil
        }
        guard case .owner(let words) = selection else { return nil }
        var meant = try owners.meant(by: words, caller).map(\.id)
        if caller.owner.isMeant(by: words) {
            let own = try isBegin ? owners.row(of: caller.owner) : owners.id(of: caller.owner)
            if !meant.contains(own) { meant.append(own) }
        }
        guard !meant.isEmpty else { throw ControlError.noJobs(of: words) }
        return try meant.flatMap { owner -> [JobID] in
            // Begun again, as by a client that has missed the answer, it pauses nothing that was resumed by hand since.
            if isBegin, try owners.maintenance(of: owner) != nil { return [] }
            try owners.setMaintenance(of: owner, since: isBegin ? moment.wall : nil)
            return try isBegin ? jobs.scheduled(of: owner) : jobs.inMaintenance(of: owner)
        }
    }

    func enterMaintenance(_ job: inout StoredJob) throws {
        try jobs.setMaintenance(job.id, true)
        job.isInMaintenance = true
    }

    func leaveMaintenance(_ job: inout StoredJob) throws {
        guard job.isInMaintenance else { return }
        try jobs.setMaintenance(job.id, false)
        job.isInMaintenance = false
    }
}

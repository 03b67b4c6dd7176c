// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The bound on what a user stores, `maxBytes`: ended jobs make room for new ones.
extension JobTransaction {
    /// Carries out `body`, which may store more for a user.
    ///
    /// Beyond the bound the user's oldest ended jobs are removed, as many as it takes.
    ///
    /// - Throws: `ControlError` `limitReached` where that is not enough, and what `body` throws.
    mutating func requiringSpace<T>(
        for owner: Owner,
        _ id: OwnerID,
        _ body: (inout JobTransaction) throws -> T
    ) throws -> T {
        // The bound does not hold for root.
        guard let maxBytes, owner.uid != 0 else { return try body(&self) }
        let before = try bytes(of: id)
        let value = try body(&self)
        var bytes = try bytes(of: id)
        guard bytes > maxBytes, bytes > before else { return value }
        // What was told and is not in the log yet may keep what has to go, or come behind what is pruned.
        if database.notes.hasPostponed { throw PostponedFirst() }
        // What is removed now may be what the events of this write tell of.
        try storeEvents()
        while bytes > maxBytes, bytes > before, let job = try jobs.oldestEnded(of: id) {
            // Whole jobs: this write's events must not be about a job that half exists.
            var budget = WorkBudget.unbounded
            _ = try remove(job, &budget)
            bytes = try self.bytes(of: id)
        }
        // Then the oldest events, as far as they need more than their own rows.
        let words = EventWords(database)
        while bytes > maxBytes, bytes > before, try words.removeOldest(of: id) {
            bytes = try self.bytes(of: id)
        }
        guard bytes > maxBytes, bytes > before else { return value }
        throw ControlError(
            .limitReached,
            "uid \(owner.uid) has \(before) bytes stored, with this it would be \(bytes), more than "
                + "maxBytesPerUser, which is \(maxBytes); ended jobs are removed first, and none are left"
        )
    }

    /// Tells the scheduler if a user has more stored than the bound allows.
    mutating func checkQuota(of job: StoredJob) throws {
        guard let maxBytes, job.owner.uid != 0 else { return }
        if try bytes(of: job.ownerID) > maxBytes { outcome.isOverfull = true }
    }
}

// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// What a user stores is bounded by `maxBytes`; what has ended makes room for what is new.
extension JobTransaction {
    /// Carries out `body`, which may store more of a user; where that is more than a user may have, the
    /// oldest of the user's ended jobs go, no more of them than it takes.
    ///
    /// - Throws: `ControlError` `limitReached` where that is not enough, and what `body` throws.
    mutating func requiringSpace<T>(
        for owner: Owner,
        _ id: OwnerID,
        _ body: (inout JobTransaction) throws -> T
    ) throws -> T {
        // Root may do what the limit keeps others from.
        guard let maxBytes, owner.uid != 0 else { return try body(&self) }
        let before = try owners.bytes(of: id)
        let value = try body(&self)
        var bytes = try owners.bytes(of: id)
        while bytes > maxBytes, bytes > before, let job = try jobs.oldestEnded(of: id) {
            // Whole jobs: what is written with it is not to be told of a job that half exists.
            var effort = Effort.unbounded
            _ = try remove(job, &effort)
            bytes = try owners.bytes(of: id)
        }
        guard bytes > maxBytes, bytes > before else { return value }
        throw ControlError(
            .limitReached,
            "uid \(owner.uid) has \(before / 1_048_576) MiB stored, with this it would be above "
                + "maxBytesPerUser, which is \(maxBytes / 1_048_576) MiB; ended jobs are removed "
                + "first, and none are left"
        )
    }

    /// Tells the scheduler where a fact that was stored is more than its user may have.
    mutating func noteSpace(of job: StoredJob) throws {
        guard let maxBytes, job.owner.uid != 0 else { return }
        if try owners.bytes(of: job.ownerID) > maxBytes { outcome.isOverfull = true }
    }
}

// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// What a user stores is bounded by `maxBytes`; what has ended makes room for what is new.
extension JobWriter {
    /// Carries out `body`, which may store more of a user; where that is more than a user may have, the
    /// oldest of the user's ended jobs go, no more of them than it takes.
    ///
    /// - Throws: `ControlError` `limitReached` where that is not enough, and what `body` throws.
    mutating func requiringSpace<T>(
        for owner: Owner,
        _ id: OwnerID,
        _ body: (inout JobWriter) throws -> T
    ) throws -> T {
        // Root may do what the limit keeps others from.
        guard let maxBytes, owner.uid != 0 else { return try body(&self) }
        let before = try owners.bytes(of: id)
        let value = try body(&self)
        var bytes = try owners.bytes(of: id)
        while bytes > maxBytes, bytes > before, let job = try oldestEnded(of: id) {
            // Whole jobs: what is written with it is not to be told of a job that half exists.
            var effort = Effort.unbounded
            _ = try remove(job, &effort)
            bytes = try owners.bytes(of: id)
        }
        // Then the oldest events, as far as they need more than their own rows.
        let words = EventWords(database)
        while bytes > maxBytes, bytes > before, try words.removeOldest(of: id) {
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

    /// The user's job that has ended first, and of which no fire is in progress.
    func oldestEnded(of owner: OwnerID) throws -> StoredJob? {
        try database.prepare(SQL.oldestEndedOfOwner).first(owner) { try JobRow.job(from: $0) }
    }
}

extension JobWriter.SQL {
    /// Uses jobs_ended_by_owner.
    static let oldestEndedOfOwner = """
        SELECT \(JobRow.columns) FROM \(JobRow.source)
        WHERE jobs.owner_id = ?1 AND jobs.ended_at_us IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM fires WHERE fires.job_id = jobs.id AND \(RunRow.isOpen))
        ORDER BY jobs.ended_at_us LIMIT 1
        """
}

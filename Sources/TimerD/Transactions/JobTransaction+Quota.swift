// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The bound on what a user stores, `maxBytes`: ended jobs make room for new ones.
extension JobTransaction {
    /// Carries out `body`, which may store more for a user.
    ///
    /// Beyond the bound the user's oldest ended jobs are removed, as many as it takes, of those that are looked at: a user may
    /// have tens of thousands whose tasks are not over, and each request looks on where the last one stopped.
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
        let hasLookedAtAll = try removeEnded(of: id) {
            bytes = try self.bytes(of: id)
            return bytes > maxBytes && bytes > before
        }
        // Then the oldest events, as far as they need more than their own rows.
        let words = EventWords(database)
        while bytes > maxBytes, bytes > before,
            try words.removeOldest(of: id) || forgetOldestReasons(of: id)
        {
            bytes = try self.bytes(of: id)
        }
        guard bytes > maxBytes, bytes > before else { return value }
        let rest =
            hasLookedAtAll
            ? "none are left that are over"
            : "\(Self.looksForRoom) were looked at whose tasks are not over; the next request looks at others"
        throw ControlError(
            .limitReached,
            "uid \(owner.uid) has \(before) bytes stored, with this it would be \(bytes), more than "
                + "maxBytesPerUser, which is \(maxBytes); ended jobs are removed first, and \(rest)"
        )
    }

    /// How many ended jobs whose tasks are not over a request looks at for room.
    private static let looksForRoom = 2000

    /// Removes ended jobs of a user while there are too many bytes; returns whether no more of them could make room.
    private func removeEnded(of owner: OwnerID, while isOver: () throws -> Bool) throws -> Bool {
        var looks = WorkBudget(rows: Self.looksForRoom)
        let start = database.notes.endedLooks[owner]
        var place = start ?? .start
        // Whole jobs: this write's events must not be about a job that half exists.
        var isDone = try removeEnded(of: owner, from: &place, &looks, whole: true, while: isOver)
        if isDone, start != nil, try isOver() {
            place = .start
            isDone = try removeEnded(of: owner, from: &place, &looks, whole: true, while: isOver)
        }
        // Who has few ended jobs has the oldest of them removed first, each time.
        let isAll = try isDone && (start == nil || isOver())
        database.notes.endedLooks[owner] = isAll ? nil : place
        return isDone
    }

    /// Forgets the oldest error of a user's runs, and the oldest text that one of his events has as its reason: most are the
    /// same, and so the newest of both stay.
    ///
    /// - Returns: whether there was any.
    func forgetOldestReasons(of owner: OwnerID) throws -> Bool {
        let hasError = try runs.forgetOldestError(of: owner)
        return try events.forgetOldestText(of: owner) || hasError
    }

    /// Tells the scheduler if a user has more stored than the bound allows.
    mutating func checkQuota(of job: StoredJob) throws {
        if try isOverfull(job) { outcome.isOverfull = true }
    }

    /// Whether the job's user has more stored than the bound allows.
    func isOverfull(_ job: StoredJob) throws -> Bool {
        guard let maxBytes, job.owner.uid != 0 else { return false }
        return try bytes(of: job.ownerID) > maxBytes
    }
}

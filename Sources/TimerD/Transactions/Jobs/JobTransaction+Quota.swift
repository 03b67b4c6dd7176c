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
        guard let maxBytes = terms.maxBytes, owner.uid != 0 else { return try body(&self) }
        let before = try bytes(of: id)
        let value = try body(&self)
        var bytes = before
        func isOver() throws -> Bool {
            bytes = try self.bytes(of: id)
            return bytes > maxBytes && bytes > before
        }
        guard try isOver() else { return value }
        // What was told and is not in the log yet may keep what has to go, or come behind what is pruned.
        if database.notes.hasPostponed { throw PostponedFirst() }
        // What is removed now may be what the events of this write tell of.
        try storeEvents()
        let hasLookedAtAll = try removeEnded(of: id, while: isOver)
        // Then the oldest events, as far as they need more than their own rows.
        let words = EventWords(database)
        while try isOver(), try words.removeOldest(of: id) {}
        try forgetOldestReasons(of: id, while: isOver)
        guard try isOver() else { return value }
        let rest =
            hasLookedAtAll
            ? "none are left that are over"
            : "\(Self.looksForRoom) were looked at whose tasks are not over; the next request looks at others"
        throw ControlError(
            .limitReached,
            "\(owner.words) has \(before) bytes stored, with this it would be \(bytes), more than "
                + "maxBytesPerUser, which is \(maxBytes); ended jobs are removed first, and \(rest)"
        )
    }

    /// How many ended jobs whose tasks are not over a request looks at for room.
    private static let looksForRoom = 2000

    /// Removes ended jobs of a user while there are too many bytes; returns whether no more of them could make room.
    private func removeEnded(of owner: OwnerID, while isOver: () throws -> Bool) throws -> Bool {
        var looks = WorkBudget(rows: Self.looksForRoom)
        let start = database.notes.endedLooks[owner]
        var cursor = start ?? .first
        // Jobs are removed whole: this write's events must not tell of a job that half exists.
        var isDone = try removeEnded(of: owner, from: &cursor, &looks, whole: true, while: isOver)
        if isDone, start != nil, try isOver() {
            cursor = .first
            isDone = try removeEnded(of: owner, from: &cursor, &looks, whole: true, while: isOver)
        }
        // Once all were looked at, the next request begins with the oldest again: of few ended jobs the oldest always go
        // first.
        let isAll = try isDone && (start == nil || isOver())
        database.notes.endedLooks[owner] = isAll ? nil : cursor
        return isDone
    }

    /// Forgets the `count` oldest errors of a user's runs, and as many of the oldest texts that his events have as their reasons:
    /// most are the same, and so the newest of both stay.
    ///
    /// `sparesUntold`: no more errors than texts go, as those stay whose events are still to be told.
    /// - Returns: whether there was any.
    func forgetOldestReasons(
        of owner: OwnerID,
        _ count: Int = 1,
        sparesUntold: Bool = false
    ) throws -> Bool {
        let texts = try events.forgetOldestTexts(of: owner, count)
        let errors = sparesUntold ? texts : count
        let hasError = try errors > 0 && runs.forgetOldestErrors(of: owner, errors)
        return hasError || texts > 0
    }

    /// Forgets a user's oldest reasons in growing pieces while `isNeeded`: there may be tens of thousands of short ones, and
    /// all writes wait for this one.
    private func forgetOldestReasons(
        of owner: OwnerID,
        sparesUntold: Bool = false,
        while isNeeded: () throws -> Bool
    ) throws {
        var piece = 1
        while try isNeeded(),
            try forgetOldestReasons(of: owner, piece, sparesUntold: sparesUntold)
        {
            piece = min(2 * piece, 256)
        }
    }

    /// Has the oldest reasons make room for the one of another failure, where its user has little room left: a task that keeps
    /// failing is to cost him no ended job, no key and no output.
    ///
    /// A text whose event is still to be told stays, and makes no room. So if one write has more texts than there is room
    /// for, it leaves out the rest.
    /// - Returns: whether the text may be stored.
    func makeRoom(forReason text: String, of job: StoredJob) throws -> Bool {
        // The text is stored twice: with its run, and with an event.
        let size = 2 * Event.countedBytes(ofReason: text)
        guard size > 0, let maxBytes = terms.maxBytes, job.owner.uid != 0 else { return true }
        let before = try bytes(of: job.ownerID)
        // The last eighth of the bound is kept for what the user adds.
        guard before + size > maxBytes / 8 * 7 else { return true }
        func isTooMuch() throws -> Bool { try bytes(of: job.ownerID) > before - size }
        let hasUntold = try untoldReasons(of: job.ownerID) > 0
        try forgetOldestReasons(of: job.ownerID, sparesUntold: hasUntold, while: isTooMuch)
        guard try isTooMuch() else { return true }
        // The user's jobs may fill the last eighth in part: the newest reason is stored all the same, within the whole bound.
        return try !hasUntold && bytes(of: job.ownerID) + size <= maxBytes
    }

    /// Tells the scheduler if a user has more stored than the bound allows.
    mutating func checkQuota(of job: StoredJob) throws {
        guard let maxBytes = terms.maxBytes, job.owner.uid != 0 else { return }
        if try bytes(of: job.ownerID) > maxBytes { outcome.isOverfull = true }
    }
}

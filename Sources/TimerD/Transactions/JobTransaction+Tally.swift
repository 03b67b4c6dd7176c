// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// What a write counts and tells: stored once for all of its jobs, when it ends.
///
/// A number is the sum of what is stored of it, what the outbox counts, what the group of records has counted that
/// this write is in (`WriterNotes.groupTally`), and what this write has.
extension JobTransaction {
    /// Counts a job that changes its state; nil for one that is new.
    mutating func count(leaving: Job.State?, entering: Job.State) {
        tally.count(leaving: leaving, entering: entering)
    }

    /// Changes how many live jobs an owner has.
    mutating func countLive(_ change: Int, of owner: OwnerID) {
        tally.owners[owner, default: JobTally.Share()].live += change
    }

    /// Counts the bytes of a new job.
    mutating func countBytes(of new: NewJob, owner: OwnerID) {
        tally.owners[owner, default: JobTally.Share()].bytes += new.text.storedBytes
    }

    func liveJobs(of owner: OwnerID) throws -> Int {
        try owners.liveJobs(of: owner) + notStored(of: owner).live
    }

    /// How many bytes are stored for the owner: see the schema.
    func bytes(of owner: OwnerID) throws -> Int64 {
        try owners.bytes(of: owner) + notStored(of: owner).bytes
    }

    /// What is counted of the owner in memory alone.
    private func notStored(of owner: OwnerID) -> JobTally.Share {
        var share = tally.owners[owner] ?? JobTally.Share()
        if let group = database.notes.groupTally?.owners[owner] { share += group }
        return share
    }

    /// Ends the write: stores what it tells and what it has counted, and returns what it did.
    ///
    /// A write that does not call this tells nothing.
    mutating func finish() throws -> StoreOutcome {
        try storeEvents()
        return outcome
    }

    /// Stores the events up to here: from now on the outbox keeps the words that they tell.
    mutating func storeEvents() throws {
        defer { (enqueued, tally) = ([], JobTally()) }
        // A row of the outbox counts for one owner, and is there for its events.
        if enqueued.isEmpty || tally.owners.count > 1 {
            try storeTally()
            tally = JobTally()
        }
        outcome.outboxEvents += try Outbox(database).insert(enqueued, tally)
    }

    private func storeTally() throws {
        if database.notes.groupTally == nil { return try tally.store(in: database) }
        database.notes.groupTally? += tally
    }
}

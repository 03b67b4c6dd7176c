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

    /// Counts why a run has failed or a job is held, once more for the event that tells it.
    mutating func countReason(of event: Event) {
        let bytes = Event.countedBytes(ofReason: event.reason)
        if bytes > 0, let owner = event.ownerID { reasons[owner, default: 0] += bytes }
    }

    func liveJobs(of owner: OwnerID) throws -> Int {
        try owners.liveJobs(of: owner) + notStored(of: owner).live
    }

    /// How many bytes are stored for the owner: see the schema.
    func bytes(of owner: OwnerID) throws -> Int64 {
        let share = notStored(of: owner)
        return try owners.bytes(of: owner) + share.bytes + share.reasons
    }

    /// How many of these are of the reasons of events that are still to be told.
    func untoldReasons(of owner: OwnerID) throws -> Int64 {
        try Outbox(database).share(of: owner).reasons + notStored(of: owner).reasons
    }

    /// What is counted of the owner in memory alone.
    private func notStored(of owner: OwnerID) -> JobTally.Share {
        var share = tally.owners[owner] ?? JobTally.Share()
        if let group = database.notes.groupTally?.owners[owner] { share += group }
        share.reasons += reasons[owner] ?? 0
        return share
    }

    /// Ends the write: stores what it tells and what it has counted, and returns what it did.
    ///
    /// A write that does not call this tells nothing.
    mutating func finish() throws -> StoreOutcome {
        try storeEvents()
        outcome.tasks.mended = database.notes.mendedTasks
        database.notes.mendedTasks = []
        return outcome
    }

    /// Stores the events up to here: from now on the outbox keeps the words that they tell.
    mutating func storeEvents() throws {
        defer { (enqueued, tally, reasons) = ([], JobTally(), [:]) }
        // A row of the outbox counts for one owner, and is there for its events.
        if enqueued.isEmpty || countsForSeveral {
            try tally.storeWithGroup(in: database)
            tally = JobTally()
        }
        outcome.outboxEvents += try Outbox(database).insert(enqueued, tally)
    }

    private var countsForSeveral: Bool {
        guard let owner = tally.owners.keys.first else { return false }
        return tally.owners.count > 1 || reasons.keys.contains { $0 != owner }
    }
}

// SPDX-License-Identifier: Apache-2.0

import SQLite

/// How records are applied: together where they follow each other, and each alone once one of them fails; on the
/// thread of the store.
extension WriteQueue {
    /// Applies the records that are kept, up to the first that fails.
    func applyRecords() {
        guard batch.error == nil, !keptRecords.isEmpty else { return }
        do {
            try applyTogether()
        } catch {
            let isAlone = keptRecords.count == 1 && group?.count == 0
            undoGroup(error)
            // Which of several stands in the way shows if each is applied alone.
            guard isAlone, let record = keptRecords.first else { return applyEach() }
            guard isGivenUp(record, error) else { return }
            note(record)
            keptRecords = []
        }
    }

    /// Applies the records that are kept in one group, with the records right before them.
    private func applyTogether() throws {
        if group == nil {
            let isFirst = try beginIfFirst()
            if !isFirst { try database.beginPart() }
            group = Group(hasSavepoint: !isFirst)
            database.notes.groupTally = JobTally()
        }
        for record in keptRecords {
            try record.body(database)
            guard database.isInTransaction else { throw failure("a write ended its transaction") }
        }
        for record in keptRecords { note(record) }
        writes += keptRecords.count
        group?.count += keptRecords.count
        keptRecords = []
    }

    /// Undoes the records of the group, and keeps them again.
    private func undoGroup(_ error: any Error) {
        guard let group else { return }
        self.group = nil
        database.notes.groupTally = nil
        keptRecords.insert(contentsOf: appliedRecords.suffix(group.count), at: 0)
        appliedRecords.removeLast(group.count)
        completions.removeLast(group.count)
        writes -= group.count
        guard group.hasSavepoint else { return database.rollback() }
        database.undoPart()
        if !database.isInTransaction { batch = .failed(asDatabaseError(error)) }
    }

    /// What is written next is not undone with the records of the group.
    func endGroup() throws {
        guard let ended = group else { return }
        do {
            try storeGroupTally()
        } catch {
            undoGroup(error)
            // Commands go after records: none until these are stored.
            if batch.error == nil { batch = .blocked(asDatabaseError(error)) }
            throw error
        }
        group = nil
        if ended.hasSavepoint { try database.endPart() }
    }

    /// Stores what the records of the group have counted.
    func storeGroupTally() throws {
        guard let tally = database.notes.groupTally else { return }
        database.notes.groupTally = nil
        try tally.store(in: database)
    }

    /// Applies the records that are kept each in a savepoint of its own, up to the first that fails.
    private func applyEach() {
        var applied = 0
        for record in keptRecords {
            guard batch.error == nil else { break }
            do {
                try apply(record.body)
            } catch {
                guard isGivenUp(record, error) else { break }
            }
            note(record)
            applied += 1
        }
        keptRecords.removeFirst(applied)
    }

    /// Whether a record that has failed alone is given up; else it stands in the way of what comes after it.
    private func isGivenUp(_ record: WriteRecord, _ error: any Error) -> Bool {
        guard batch.error == nil else { return false }
        if record.isGivenUp(error) { return true }
        batch = .blocked(asDatabaseError(error))
        return false
    }

    private func note(_ record: WriteRecord) {
        appliedRecords.append(record)
        completions.append(
            Completion(isOfRecord: true) { if $0 == nil { record.durable?() } }
        )
    }
}

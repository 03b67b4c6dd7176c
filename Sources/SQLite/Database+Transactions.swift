// SPDX-License-Identifier: Apache-2.0

extension Database {
    /// Begins a transaction that may write, and is refused now rather than later if it may not.
    package func begin() throws(DatabaseError) {
        try prepare("BEGIN IMMEDIATE").run()
        try home?.begin(self)
        noteTransaction(isCommitted: false)
    }

    /// Begins a transaction whose reads all see the database as it is at the first of them.
    package func beginReading() throws(DatabaseError) {
        try prepare("BEGIN DEFERRED").run()
    }

    /// Makes the transaction durable; after an error it may still be open.
    ///
    /// Where the jobs are shared, they are stored there first: what is there counts. A copy that does not take it is of no use
    /// from then on: then `home` has a `loss`, and there is no error.
    package func commit() throws(DatabaseError) {
        try home?.commit(self)
        do throws(DatabaseError) {
            try prepare("COMMIT").run()
        } catch {
            // It is stored, and the copy lacks it: nothing that follows may go by this copy.
            guard let home else { throw error }
            let reason = "the copy of the jobs '\(path)' cannot be written: \(error.message)"
            home.lose(DatabaseError(ofCopy: reason, code: error.code, path: path))
            return rollback()
        }
        noteTransaction(isCommitted: true)
    }

    /// Runs `body` within the open transaction; if it throws, what it changed is undone, and
    /// nothing else.
    ///
    /// May be nested. If undoing fails too, the whole transaction is undone: see `isInTransaction`.
    package func savepoint<T>(_ body: () throws -> T) throws -> T {
        try beginPart()
        let result: T
        do {
            result = try body()
        } catch {
            undoPart()
            throw error
        }
        try endPart()
        return result
    }

    /// Begins a part of the open transaction that can be undone alone, until `endPart` or the commit.
    package func beginPart() throws(DatabaseError) { try prepare("SAVEPOINT step").run() }

    /// Makes the part one with the transaction around it.
    package func endPart() throws(DatabaseError) { try prepare("RELEASE step").run() }

    /// Undoes the part; if that fails, the whole transaction: see `isInTransaction`.
    package func undoPart() {
        noteUndone()
        guard isInTransaction else { return }
        do {
            try prepare("ROLLBACK TO step").run()
            try prepare("RELEASE step").run()
        } catch {
            rollback()
        }
    }
}

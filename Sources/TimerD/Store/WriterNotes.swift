// SPDX-License-Identifier: Apache-2.0

import SQLite

/// What the store remembers beside the connection that writes.
final class WriterNotes {
    /// See `Outbox`.
    var outboxSums: OutboxSums?
    /// What records have counted that are stored together, and that is stored once for all: see `WriteQueue`.
    ///
    /// Nil outside of such a group.
    var groupTally: JobTally?
    /// Whether records are postponed: see `WriteQueue.postpone`.
    var hasPostponed = false
}

extension Database {
    /// What is remembered beside this connection; nothing at first.
    var notes: WriterNotes {
        if let notes = attachment as? WriterNotes { return notes }
        let notes = WriterNotes()
        attachment = notes
        return notes
    }
}

// SPDX-License-Identifier: Apache-2.0

import SQLite
import TimerControl

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
    /// Up to where the ended jobs of users were looked at who have more of them than one request looks at: see
    /// `JobTransaction.requiringSpace`.
    var endedLooks: [OwnerID: EndedCursor] = [:]
    /// Whose tasks were looked at last of the users who took turns: see `JobTransaction.takeDueTasks`.
    var dueOwner = OwnerID.nobody
    /// The tasks that could not be read when they were due: each is logged once.
    var unreadTasks: Set<FireID> = []
    /// The tasks that a write has mended and not told yet, and whether a look has found none: see `TaskStore.mending`.
    var mendedTasks: [String] = []
    var areTasksSound = false
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

// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// The events table: the events that watchers were sent, and can be sent again.
struct EventLog {
    let database: Database

    init(_ database: Database) { self.database = database }

    /// Keeps an event that has its number, and the end of its job, if that was told with it.
    func insert(_ event: Event, end: Event? = nil) throws {
        // Both tell the same words, which are kept up to the last of them.
        var last = event
        last.seq = end?.seq ?? event.seq
        try EventWords(database).keep(last)
        try database.insert(event)
        if let end { try database.insert(end) }
    }

    /// Keeps events that have their numbers, and takes them out of the outbox; they are in its order.
    func move(_ events: [OutboxEvent]) throws {
        let words = EventWords(database)
        let unchanged = try words.unchanged(events)
        for (index, next) in events.enumerated() {
            if unchanged[next.event.job] != next.event.revision { try words.keep(next.event) }
            try database.insert(next.event)
            // A row is written once for all of its events that are here.
            let isEnd = index + 1 == events.count || events[index + 1].outbox != next.outbox
            if isEnd { try Outbox(database).remove(through: next) }
        }
    }

    /// The events after `seq` and before `end`, in order, as watchers saw them; at most `limit`.
    ///
    /// They are not stored in the order of their numbers: `end` is a number before which all are. Only those
    /// of `owner` unless it is nil; fewer if `room` is full.
    func events(
        after seq: Int64,
        before end: Int64 = .max,
        owner: OwnerID? = nil,
        limit: Int,
        in room: PageRoom? = nil
    ) throws -> [Event] {
        func read(_ row: borrowing Row) throws -> Event? {
            if let room, !room.takes(event: row) { return nil }
            return try Event(row)
        }
        if let owner {
            return try database.prepare(SQL.afterOfOwner).page(seq, limit, end, owner) {
                try read($0)
            }
        }
        return try database.prepare(SQL.after).page(seq, limit, end) { try read($0) }
    }

    /// The highest number of an event that is no longer kept, only of `owner` unless it is nil; 0 for none.
    func prunedThrough(of owner: OwnerID? = nil) throws -> Int64 {
        if let owner {
            return try database.prepare(SQL.prunedThroughOfOwner).first(owner) { try $0.get(0) }
                ?? 0
        }
        return try database.prepare(SQL.prunedThrough).value() ?? 0
    }

    enum SQL {
        static let insert = EventRow.insert
        /// What is not kept any more may still have its row: see `EventWords.removeOldest`.
        static let after = """
            \(EventRow.select(from: "events", number: "seq"))
            WHERE e.seq > ?1 AND e.seq < ?3 AND e.seq > coalesce(owners.events_pruned, 0)
            ORDER BY e.seq LIMIT ?2
            """
        /// Uses events_by_owner.
        static let afterOfOwner = after.replacing(
            "WHERE",
            with: "WHERE e.owner_id = ?4 AND e.owner_id <> 0 AND"
        )
        static let prunedThrough = "SELECT events_pruned FROM daemon_state"
        static let prunedThroughOfOwner = "SELECT events_pruned FROM owners WHERE id = ?1"
    }
}

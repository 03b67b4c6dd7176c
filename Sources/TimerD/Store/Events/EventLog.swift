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
        var reasons: Int64 = 0
        var counted = JobTally()
        for (index, next) in events.enumerated() {
            let following = index + 1 < events.count ? events[index + 1] : nil
            let event = next.event
            if unchanged[event.job] != event.revision,
                following?.event.tellsWords(of: event) != true
            {
                try words.keep(event)
            }
            try database.insert(event)
            reasons += Event.countedBytes(ofReason: event.reason)
            // A row is written once for all of its events that are here.
            guard following?.outbox != next.outbox else { continue }
            try Outbox(database).remove(through: next, reasons: reasons, into: &counted)
            reasons = 0
        }
        try counted.storeWithGroup(in: database)
    }

    /// The events after `seq` and before `end`, in order, as watchers saw them; at most `limit`.
    ///
    /// They are not stored in the order of their numbers: `end` is a number before which all are. Only those
    /// of `owner` unless it is nil; fewer if `room` is full. It ends before a row that cannot be read, and passes over those
    /// that it begins with.
    func read(
        after seq: Int64,
        before end: Int64 = .max,
        owner: OwnerID? = nil,
        limit: Int,
        in room: PageRoom? = nil
    ) throws -> ReadEvents {
        var page = ReadEvents()
        func take(_ row: borrowing Row) throws -> Void? {
            do {
                let event = try Event(row)
                page.isLast = room?.takes(event: row) ?? true
                if page.isLast { page.events.append(event) }
            } catch let error as DatabaseError where error.isUnreadableValue {
                page.isLast = page.events.isEmpty
                if page.isLast { page.lostThrough = try row.get(0) }
            }
            return page.isLast ? () : nil
        }
        repeat {
            page.isLast = true
            let start = max(seq, page.lostThrough)
            let rows: Int
            if let owner {
                rows = try database.prepare(SQL.afterOfOwner).page(start, limit, end, owner) {
                    try take($0)
                }.count
            } else {
                rows = try database.prepare(SQL.after).page(start, limit, end) { try take($0) }
                    .count
            }
            if rows == limit { page.isLast = false }
        } while page.events.isEmpty && !page.isLast
        return page
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
        /// What is not kept any more may still have its row: see `EventWords.removeOldest` and `forgetOldestTexts`.
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

/// What was read of the events.
struct ReadEvents: Sendable {
    var events: [Event] = []
    /// Whether there is none behind them.
    var isLast = true
    /// The number of the last event before these that cannot be read; 0 for none.
    var lostThrough: Int64 = 0
}

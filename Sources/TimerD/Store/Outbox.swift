// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The outbox table: events that are stored with the change they tell of, and have no number yet.
struct Outbox {
    let database: Database

    init(_ database: Database) { self.database = database }

    /// Stores an event that is to be told once the write is durable, or after a crash.
    func insert(_ event: Event) throws -> OutboxEvent {
        // A job that was added in this write has its words.
        if event.type != .jobAdded { try EventWords(database).keep(event) }
        try database.insert(event, SQL.insert, number: nil)
        return OutboxEvent(outbox: database.lastInsertRowID, event: event)
    }

    /// What it holds: told by nobody, or by a daemon that died before it could say so.
    func events() throws -> [OutboxEvent] {
        try database.prepare(SQL.all).all {
            var event = try Event($0)
            event.redelivered = true
            let row = event.seq
            event.seq = 0
            return OutboxEvent(outbox: row, event: event)
        }
    }

    /// Takes out an event that is in the log.
    func remove(_ row: Int64) throws { try database.prepare(SQL.delete).run(row) }

    enum SQL {
        static let insert = EventRow.insert(into: "outbox", number: "id")
        static let all = "\(EventRow.select(from: "outbox", number: "id")) ORDER BY e.id"
        static let delete = "DELETE FROM outbox WHERE id = ?1"
    }
}

/// An event that is stored but has no number yet.
struct OutboxEvent: Sendable {
    /// Its row in `outbox`.
    var outbox: Int64
    /// Complete but for `seq`.
    var event: Event
}

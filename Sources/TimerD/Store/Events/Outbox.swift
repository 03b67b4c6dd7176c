// SPDX-License-Identifier: Apache-2.0

import SQLite
import TimerControl

/// The outbox table: events that are stored with the change they tell of, and have no number yet, and what
/// that change counts.
struct Outbox {
    let database: Database

    init(_ database: Database) { self.database = database }

    /// So many events are in one row at most: a row that is moved in pieces is written again for each.
    static let rowLimit = 64

    /// Stores the events of one write, which are to be told once it is durable, or after a crash, and what
    /// the write has counted: of one owner at most, and then no other's events have reasons that count.
    func insert(_ events: [Event], _ tally: JobTally) throws -> [OutboxEvent] {
        var stored: [OutboxEvent] = []
        stored.reserveCapacity(events.count)
        var (left, rest) = (events[...], tally)
        while !left.isEmpty {
            var counted = OutboxSums.Row(scheduled: rest.scheduled, paused: rest.paused)
            if let (owner, share) = rest.owners.first {
                (counted.owner, counted.share) = (owner, share)
            }
            let part = Self.row(of: left, countingIn: &counted)
            left = left[part.endIndex...]
            let text = OutboxText.of(part)
            try refreshSums()
            try database.prepare(SQL.insert).run {
                $0.add(counted.owner)
                $0.add(counted.share.live)
                $0.add(counted.share.bytes)
                $0.add(counted.share.reasons)
                $0.add(counted.scheduled)
                $0.add(counted.paused)
                $0.add(text)
            }
            rest = JobTally()
            let row = database.lastInsertRowID
            database.notes.outboxSums?.add(row, counted)
            for (place, event) in part.enumerated() {
                stored.append(
                    OutboxEvent(
                        outbox: row,
                        place: place,
                        isLast: place == part.count - 1,
                        event: event
                    )
                )
            }
        }
        return stored
    }

    /// The first of `events`, as many as go into one row, with reasons that count of one owner at most; adds these to what the
    /// row counts for that one.
    private static func row(
        of events: ArraySlice<Event>,
        countingIn row: inout OutboxSums.Row
    ) -> ArraySlice<Event> {
        let part = events.prefix(rowLimit)
        for (place, event) in zip(part.indices, part) {
            let bytes = Event.countedBytes(ofReason: event.reason)
            guard bytes > 0, let id = event.ownerID else { continue }
            if let owner = row.owner, owner != id {
                // A row has one event at least.
                if place > part.startIndex { return part[..<place] }
                continue
            }
            row.owner = id
            row.share.reasons += bytes
        }
        return part
    }

    /// What it holds: told by nobody, or by a daemon that died before it could say so.
    ///
    /// `unreadable` is called for a row of which an event cannot be read, and why.
    func events(
        unreadable: (_ row: Int64, _ why: DatabaseError) throws -> Void = { throw $1 }
    ) throws -> [OutboxEvent] {
        let rows = try database.prepare(SQL.rows).all { try $0.get(0, as: Int64.self) }
        return try rows.flatMap { row -> [OutboxEvent] in
            do {
                return try events(of: row)
            } catch let error as DatabaseError where error.isUnreadableValue {
                try unreadable(row, error)
                return []
            }
        }
    }

    private func events(of row: Int64) throws -> [OutboxEvent] {
        try database.prepare(SQL.ofRow).all(row) { row in
            var event = try Event(row)
            event.redelivered = true
            let number = event.seq
            event.seq = 0
            return OutboxEvent(
                outbox: number,
                place: try row.get(24),
                isLast: try row.get(25),
                event: event
            )
        }
    }

    /// Gives up a row that cannot be read; what it counts is stored as of any other.
    ///
    /// `last`: the newest number that an event has. Whoever has not seen it yet is told that events are lost up to there.
    func giveUp(_ row: Int64, last: Int64) throws {
        let owner: OwnerID? = try database.prepare(SQL.owner).value(row, as: OwnerID?.self) ?? nil
        try EventLog(database).notePruned(of: owner ?? .nobody, through: last)
        var tally = JobTally()
        try remove(row, into: &tally)
        try tally.storeWithGroup(in: database)
    }

    private func remove(_ row: Int64, into tally: inout JobTally) throws {
        try refreshSums()
        try database.prepare(SQL.delete).run(row)
        if let counted = database.notes.outboxSums?.remove(row) { tally.count(counted) }
    }

    /// Takes out an event that is in the log, and all before it in its row; with the last of them the row, whose
    /// numbers are the caller's to store then, in the same write.
    ///
    /// `reasons`: the bytes of what these have as reasons, which count with the log from now on.
    func remove(through event: OutboxEvent, reasons: Int64, into tally: inout JobTally) throws {
        if event.isLast {
            try remove(event.outbox, into: &tally)
        } else {
            if reasons > 0 { try refreshSums() }
            try database.prepare(SQL.setTold).run(event.outbox, event.place + 1, reasons)
            if reasons > 0 { database.notes.outboxSums?.tell(event.outbox, reasons: reasons) }
        }
    }

    // MARK: - What it counts

    /// What it counts of an owner, which is not in `owners` yet.
    func share(of owner: OwnerID) throws -> JobTally.Share {
        try refreshSums()
        return database.notes.outboxSums?[owner] ?? JobTally.Share()
    }

    /// Reads them again if they may have changed; remembered, as a write asks for them several times, and there
    /// may be many rows.
    private func refreshSums() throws {
        if database.isOnlyWriter, database.notes.outboxSums?.undone == database.undone { return }
        var sums = OutboxSums(undone: database.undone)
        let counted = try database.prepare(SQL.counts).all { row in
            let share = JobTally.Share(
                live: try row.get(2),
                bytes: try row.get(3),
                reasons: try row.get(4)
            )
            return (
                row: try row.get(0, as: Int64.self),
                counted: OutboxSums.Row(
                    owner: try row.get(1),
                    share: share,
                    scheduled: try row.get(5),
                    paused: try row.get(6)
                )
            )
        }
        for (row, counted) in counted { sums.add(row, counted) }
        database.notes.outboxSums = sums
    }

    enum SQL {
        static let counts = """
            SELECT id, owner_id, live, bytes, reasons, scheduled, paused FROM outbox
            """
        static let insert = """
            INSERT INTO outbox (owner_id, live, bytes, reasons, scheduled, paused, events)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """
        static let rows = "SELECT id FROM outbox ORDER BY id"
        static let ofRow = """
            \(EventRow.select(from: events, number: "id", more: ", e.place, e.is_last"))
            WHERE e.id = ?1 AND e.place >= e.told ORDER BY e.place
            """
        static let owner = "SELECT owner_id FROM outbox WHERE id = ?1"
        static let setTold = """
            UPDATE outbox SET told = ?2, reasons = reasons - ?3 WHERE id = ?1
            """
        static let delete = "DELETE FROM outbox WHERE id = ?1"

        /// A row for each event; of a text that is no JSON, and of what is no array in it, one without values.
        private static let events = """
            (SELECT outbox.id, outbox.told, outbox_event.key AS place,
                outbox_event.key = json_array_length(\(text)) - 1 AS is_last,
                \(columns)
            FROM outbox CROSS JOIN json_each(\(text)) AS outbox_event)
            """
        private static let text = """
            iif(json_valid(outbox.events),
                iif(json_array_length(outbox.events) > 0, outbox.events, '[null]'), '[null]')
            """
        private static func value(_ place: Int) -> String {
            "json_extract(iif(outbox_event.type = 'array', outbox_event.value, '[]'), '$[\(place)]')"
        }
        private static let columns = OutboxText.columns.enumerated().map { place, name in
            switch name {
            case "redelivered", "handler": "coalesce(\(value(place)), 0) AS \(name)"
            default: "\(value(place)) AS \(name)"
            }
        }.joined(separator: ", ")

        /// Which words it tells.
        static let words = """
            SELECT \(value(OutboxText.jobPlace)), \(value(OutboxText.revisionPlace))
            FROM outbox CROSS JOIN json_each(\(text)) AS outbox_event
            """
        /// How much it counts in `column`.
        static func sum(_ column: String) -> String {
            "coalesce((SELECT sum(outbox.\(column)) FROM outbox), 0)"
        }
        /// The same of one owner, in a statement about `owners`.
        static func sumOfOwner(_ column: String) -> String {
            """
            coalesce((SELECT sum(outbox.\(column)) FROM outbox WHERE outbox.owner_id = owners.id), 0)
            """
        }
    }
}

/// An event that is stored but has no number yet.
struct OutboxEvent: Sendable {
    /// Its row in `outbox`.
    var outbox: Int64
    /// Where it stands in the row, from 0; and whether it is the last there.
    var place: Int
    var isLast: Bool
    /// Complete but for `seq`.
    var event: Event
}

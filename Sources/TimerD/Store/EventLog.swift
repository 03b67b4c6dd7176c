// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// The events table: the events that watchers were sent, and can be sent again.
struct EventLog {
    let database: Database

    init(_ database: Database) { self.database = database }

    /// Puts an event that has no number yet into the outbox; returns its row there.
    func enqueue(_ event: Event) throws -> Int64 {
        try database.prepare(SQL.enqueue).run(
            event.type,
            event.at,
            event.job,
            event.fire,
            event.run,
            event.reason,
            event.fire == nil ? event.fireDate : nil,
            event.ownerID
        )
        return database.lastInsertRowID
    }

    /// Stores an event that has its number.
    func insert(_ event: Event) throws {
        try database.prepare(SQL.insert).run(
            event.seq,
            event.type,
            event.at,
            event.job,
            event.fire,
            event.run,
            event.redelivered == true,
            event.reason,
            event.fireDate,
            event.ownerID,
            event.missed,
            event.dates,
            event.through,
            event.attempt,
            event.outcome,
            event.status ?? event.signal,
            event.onFailure == true
        )
    }

    /// Stores an event that came from the outbox, and deletes it there.
    func insert(_ event: Event, fromOutbox row: Int64) throws {
        try insert(event)
        try database.prepare(SQL.deleteNotice).run(row)
    }

    /// The events after `seq`, in order, as watchers saw them; at most `limit`.
    ///
    /// Only those of `owner` unless it is nil; fewer if `room` is full.
    func events(
        after seq: Int64,
        owner: OwnerID? = nil,
        limit: Int,
        in room: PageRoom? = nil
    ) throws -> [Event] {
        func read(_ row: borrowing Row) throws -> Event? {
            if let room, !room.takes(event: row) { return nil }
            return try Self.event(row)
        }
        if let owner {
            return try database.prepare(SQL.afterOfOwner).page(seq, limit, owner) { try read($0) }
        }
        return try database.prepare(SQL.after).page(seq, limit) { try read($0) }
    }

    /// The highest number of an event that is no longer kept, only of `owner` unless it is nil; 0 for none.
    func prunedThrough(of owner: OwnerID? = nil) throws -> Int64 {
        if let owner {
            return try database.prepare(SQL.prunedThroughOfOwner).first(owner) { try $0.get(0) }
                ?? 0
        }
        return try database.prepare(SQL.prunedThrough).value() ?? 0
    }

    /// The events in the outbox: not told yet, or told by a daemon that died before it could store that.
    func outbox() throws -> [Notice] {
        try database.prepare(SQL.outbox).all {
            var event = try Self.event($0)
            event.redelivered = true
            let row = event.seq
            event.seq = 0
            return Notice(outbox: row, event: event)
        }
    }

    private static func event(_ row: borrowing Row) throws -> Event {
        var event = Event(
            seq: try row.get(0),
            type: try row.get(1),
            at: try row.get(2),
            job: try row.get(3)
        )
        event.fire = try row.get(4)
        event.run = try row.get(5)
        event.redelivered = try row.get(6, as: Bool.self) ? true : nil
        event.reason = try row.get(7)
        event.name = try row.get(8)
        if let owner: OwnerID = try row.get(10, as: OwnerID?.self) {
            event.ownerID = owner
            event.owner = Owner(uid: try row.get(19), name: try row.get(20))
        }
        event.fireDate = try row.get(11)
        event.onFailure = try row.get(21, as: Bool.self) ? true : nil
        event.attempt = event.onFailure == true ? nil : try row.get(16)
        switch event.type {
        case .fireFired:
            let userInfo: String? = try row.get(9)
            // If the userInfo cannot be read, the job says so: it is held for that.
            event.userInfo = userInfo.flatMap(JSONText.init(stored:))
            event.firedAt = try row.get(12)
            event.missed = try row.count(13, above: 0)
        case .fireSkipped:
            event.dates = try row.count(14, above: 1)
            event.through = try row.get(15)
        case .runFinished:
            event.outcome = try row.get(17)
            let code: Int32? = try row.get(18)
            event.status = event.outcome == .exited ? code : nil
            event.signal = event.outcome == .signalled ? code : nil
        default: break
        }
        return event
    }

    enum SQL {
        static let enqueue = """
            INSERT INTO outbox (type, at_us, job_id, fire_id, run_id, reason, fire_date_us,
                owner_id)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """
        static let insert = """
            INSERT INTO events (seq, type, at_us, job_id, fire_id, run_id, redelivered, reason,
                fire_date_us, owner_id, missed, dates, last_date_us, attempt, outcome, code,
                is_on_failure)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
            """
        static let deleteNotice = "DELETE FROM outbox WHERE id = ?1"
        static let after = """
            SELECT e.seq, e.type, e.at_us, e.job_id, e.fire_id, e.run_id, e.redelivered, e.reason,
                job_definitions.name, job_definitions.user_info, e.owner_id, e.fire_date_us,
                CASE e.type WHEN 'fire.fired' THEN e.at_us END, e.missed, e.dates, e.last_date_us,
                e.attempt, e.outcome, e.code, owners.uid, owners.name, e.is_on_failure
            FROM events AS e
            LEFT JOIN job_definitions ON job_definitions.job_id = e.job_id
            LEFT JOIN owners ON owners.id = e.owner_id
            WHERE e.seq > ?1 ORDER BY e.seq LIMIT ?2
            """
        /// Uses events_by_owner.
        static let afterOfOwner = after.replacing(
            "WHERE",
            with: "WHERE e.owner_id = ?3 AND e.owner_id <> 0 AND"
        )
        /// The other fields of an event are in the rows that it is about, which are too new to be removed.
        static let outbox = """
            SELECT e.id, e.type, e.at_us, e.job_id, e.fire_id, e.run_id, 0, e.reason,
                job_definitions.name, job_definitions.user_info, e.owner_id,
                coalesce(fires.wall_date_us, e.fire_date_us), fires.fired_at_us, fires.missed,
                fires.dates, fires.last_date_us, runs.attempt, runs.outcome, runs.code,
                owners.uid, owners.name, coalesce(runs.is_on_failure, 0)
            FROM outbox AS e
            LEFT JOIN job_definitions ON job_definitions.job_id = e.job_id
            LEFT JOIN fires ON fires.id = e.fire_id
            LEFT JOIN runs ON runs.id = e.run_id
            LEFT JOIN owners ON owners.id = e.owner_id
            ORDER BY e.id
            """
        static let prunedThrough = "SELECT events_pruned FROM daemon_state"
        static let prunedThroughOfOwner = "SELECT events_pruned FROM owners WHERE id = ?1"
    }
}

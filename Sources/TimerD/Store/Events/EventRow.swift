// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// Rows of `events`, and what stands for them in `outbox`.
enum EventRow {
    static let insert = """
        INSERT INTO events (seq, type, at_us, job_id, revision, owner_id, fire_id, run_id,
            redelivered, reason, fire_date_us, fired_at_us, missed, dates, last_date_us, attempt,
            outcome, code, handler, due_by_us)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
            ?20)
        """

    /// What `Event.init(_:)` reads, in its order, and `more` after it, up to the condition; the table is `e`.
    ///
    /// `outcome` is of an event that is not about a run by whom it was asked for, and `missed` of a run's end whether it has
    /// failed.
    ///
    /// The job's words of the event's revision stand with the job, or else in event_words.
    static func select(from table: String, number: String, more: String = "") -> String {
        """
        SELECT e.\(number), e.type, e.at_us, e.job_id, e.fire_id, e.run_id, e.redelivered, e.reason,
            coalesce(job_definitions.name, event_words.name),
            CASE e.type WHEN 'fire.fired'
                THEN coalesce(job_definitions.user_info, event_words.user_info) END,
            e.owner_id, e.fire_date_us,
            CASE e.type WHEN 'fire.fired' THEN coalesce(e.fired_at_us, e.at_us) END,
            e.missed, e.dates, e.last_date_us, e.attempt, e.outcome, e.code,
            owners.uid, owners.name, e.handler, e.revision, e.due_by_us\(more)
        FROM \(table) AS e
        LEFT JOIN jobs ON jobs.id = e.job_id AND jobs.revision = e.revision
        LEFT JOIN job_definitions ON job_definitions.job_id = jobs.id
        LEFT JOIN event_words
            ON event_words.job_id = e.job_id AND event_words.revision = e.revision
        LEFT JOIN owners ON owners.id = e.owner_id
        """
    }
}

extension Database {
    /// Inserts a row of `events`.
    func insert(_ event: Event) throws {
        try prepare(EventLog.SQL.insert).run {
            $0.add(event.seq)
            $0.add(event.type)
            $0.add(event.at)
            $0.add(event.job)
            $0.add(event.revision)
            $0.add(event.ownerID)
            $0.add(event.fire)
            $0.add(event.run)
            $0.add(event.redelivered == true)
            $0.add(event.reason)
            $0.add(event.fireDate)
            $0.add(event.firedAt == event.at ? nil : event.firedAt)
            $0.add(event.storedMissed)
            $0.add(event.dates)
            $0.add(event.through)
            $0.add(event.attempt)
            $0.add(event.storedOutcome)
            $0.add(event.status ?? event.signal)
            $0.add(event.handler?.rawValue ?? 0)
            $0.add(event.dueBy)
        }
    }
}

extension Event {
    /// What stands in the column `missed`, see `EventRow.select`.
    var storedMissed: Int? { failed.map { $0 ? 1 : 0 } ?? missed }

    /// What stands in the column `outcome`.
    var storedOutcome: String? { outcome?.rawValue ?? by }

    /// How many bytes a reason counts for its user, in a run and once more in its event: as the triggers of the schema count it.
    static func countedBytes(ofReason text: String?) -> Int64 {
        let count = text?.utf8.count ?? 0
        return count > 32 ? Int64(count) : 0
    }

    /// A row of `EventRow.select`.
    init(_ row: borrowing Row) throws {
        self.init(
            seq: try row.get(0),
            type: try row.get(1),
            at: try row.get(2),
            job: try row.get(3)
        )
        fire = try row.get(4)
        run = try row.get(5)
        redelivered = try row.get(6, as: Bool.self) ? true : nil
        reason = try row.get(7)
        // What cannot be read any more is told by the job, which is held for it.
        name = row.ifReadable(8)
        if let id: OwnerID = try row.get(10, as: OwnerID?.self) {
            ownerID = id
            owner = Owner(uid: try row.get(19), name: try row.get(20))
        }
        fireDate = try row.get(11)
        handler = RunHandler(rawValue: try row.get(21))
        attempt = try row.get(16)
        revision = try row.get(22)
        switch type {
        case .fireFired:
            userInfo = row.ifReadable(9, as: String.self).flatMap(JSONText.init(stored:))
            firedAt = try row.get(12)
            dueBy = try row.get(23)
            missed = try row.count(13, above: 0)
        case .fireSkipped:
            dates = try row.count(14, above: 1)
            through = try row.get(15)
            by = row.ifReadable(17)
        case .runStarted:
            dueBy = try row.get(23)
        case .runFinished:
            outcome = try row.get(17)
            failed = row.ifReadable(13)
            let code: Int32? = try row.get(18)
            status = outcome == .exited ? code : nil
            signal = outcome == .signalled ? code : nil
        case .noticeFailed: break
        case .jobAdded, .jobChanged, .jobRescheduled, .jobPaused, .jobResumed, .jobInvalidated,
            .jobRestored, .jobFinished, .jobHeld, .jobReleased:
            by = row.ifReadable(17)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// The rows of fires: SQL alone, no decision.
///
/// A date of a job has one row at most, whatever became of it.
struct FireStore {
    let database: Database

    init(_ database: Database) { self.database = database }

    // MARK: - New rows

    /// Claims a date of the job's clock; nil if it has a row.
    func insertClaim(_ date: Timestamp, of job: StoredJob, at moment: ClockReading, missed: Int)
        throws
        -> FireID?
    {
        let wallDate = moment.wallDate(date, on: job.clock)
        try database.prepare(SQL.insertClaim).run {
            $0.add(job.id)
            $0.add(job.ownerID)
            $0.add(date)
            $0.add(wallDate)
            $0.add(missed)
            $0.add(job.dueBy(date, at: moment))
        }
        return inserted
    }

    /// Claims a date out of turn, for a fire by hand; nil if it has a row.
    func insertByHand(_ date: Timestamp, of job: StoredJob, at moment: ClockReading) throws
        -> FireID?
    {
        let wallDate = moment.wallDate(date, on: job.clock)
        try database.prepare(SQL.insertByHand).run(job.id, job.ownerID, date, wallDate)
        return inserted
    }

    /// Stores dates that do not become fires as one row; nil if the first has a row.
    func insertSkipped(
        _ dates: MisfirePolicy.SkippedDates,
        of job: StoredJob,
        at moment: ClockReading
    )
        throws -> FireID?
    {
        try database.prepare(SQL.insertSkipped).run(
            job.id,
            job.ownerID,
            dates.first,
            moment.wallDate(dates.first, on: job.clock),
            dates.reason,
            dates.count,
            dates.count > 1 ? moment.wallDate(dates.last, on: job.clock) : nil
        )
        return inserted
    }

    /// Stores the row of a fire that has happened, if its claim was released meanwhile.
    func restoreClaim(_ fire: FireID, _ date: Timestamp, of job: StoredJob, at moment: ClockReading)
        throws
    {
        let wallDate = moment.wallDate(date, on: job.clock)
        try database.prepare(SQL.restoreClaim).run {
            $0.add(fire)
            $0.add(job.id)
            $0.add(job.ownerID)
            $0.add(date)
            $0.add(wallDate)
            $0.add(job.dueBy(date, at: moment))
        }
    }

    private var inserted: FireID? {
        database.changes == 1 ? FireID(rawValue: database.lastInsertRowID) : nil
    }

    // MARK: - Its state

    /// The state of a fire; nil if it has no row, or a state that cannot be read.
    func knownState(of fire: FireID) throws -> Run.State? {
        try database.prepare(SQL.state).first(fire) { $0.ifReadable(0) } ?? nil
    }

    func markClaimed(_ fire: FireID) throws { try database.prepare(SQL.markClaimed).run(fire) }

    /// Marks a claim as fired or running, at a date of the wall clock.
    ///
    /// A fire that has gone further keeps its state: its event may get its number only after its run began.
    func markFired(_ fire: FireID, _ state: Run.State, at date: Timestamp) throws {
        try database.prepare(SQL.markFired).run {
            $0.add(fire)
            $0.add(state)
            $0.add(date)
        }
    }

    /// Stores that the fire's command begins; an earlier date of its begin stays.
    func markBegun(_ fire: FireID, at date: Timestamp) throws {
        try database.prepare(SQL.markBegun).run(fire, date)
    }

    func markRunning(_ fire: FireID) throws { try database.prepare(SQL.markRunning).run(fire) }

    /// `until`: by the wall clock; nil for no time.
    func markWaiting(_ fire: FireID, for wait: Run.Wait, until: Timestamp?) throws {
        try database.prepare(SQL.markWaiting).run(fire, wait, until)
    }

    /// Stores that the fire has become a task.
    func markQueued(_ fire: FireID, at date: Timestamp) throws {
        try database.prepare(SQL.markQueued).run(fire, date)
    }

    func markQueuedAgain(_ fire: FireID) throws {
        try database.prepare(SQL.markTask).run(fire, FireState.queued)
    }

    func markReserved(_ fire: FireID) throws {
        try database.prepare(SQL.markTask).run(fire, FireState.reserved)
    }

    func markDead(_ fire: FireID) throws {
        try database.prepare(SQL.markTask).run(fire, FireState.dead)
    }

    /// The fire's date by the wall clock; nil if it has no row.
    func wallDate(of fire: FireID) throws -> Timestamp? {
        try database.prepare(SQL.wallDate).value(fire)
    }

    /// Whether a user fired it by hand, and nothing has come between.
    func isByHand(_ fire: FireID) throws -> Bool {
        try database.prepare(SQL.isByHand).value(fire, as: Bool.self) == true
    }

    func markDone(_ fire: FireID) throws { try database.prepare(SQL.markDone).run(fire) }

    /// Notes that the last attempt at its own command failed.
    func markFailed(_ fire: FireID) throws { try database.prepare(SQL.markFailed).run(fire, true) }

    /// Notes that its command was ended before it began: it has neither failed nor been carried out.
    func markNotBegun(_ fire: FireID) throws {
        try database.prepare(SQL.markFailed).run(fire, false)
    }

    func markSkipped(_ fire: FireID, _ reason: FireReason) throws {
        try database.prepare(SQL.markSkipped).run(fire, reason)
    }

    /// Stores when the fire was told, and nothing else.
    func setFiredAt(_ fire: FireID, _ date: Timestamp) throws {
        try database.prepare(SQL.setFiredAt).run(fire, date)
    }

    /// Notes that a claim's event may have been told.
    func markMaybeTold(_ fire: FireID, at date: Timestamp) throws {
        try database.prepare(SQL.markMaybeTold).run(fire, date)
    }

    /// Marks a claim as fired whose event may have been told; false for any other.
    func keepMaybeTold(_ fire: FireID, at date: Timestamp) throws -> Bool {
        try database.prepare(SQL.keepMaybeTold).run(fire, date)
        return database.changes > 0
    }

    // MARK: - Removing

    /// Deletes a claim, also one whose command was made ready (state `running`); leaves one whose state is of
    /// a newer version.
    func deleteClaim(_ fire: FireID) throws { try database.prepare(SQL.deleteClaim).run(fire) }

    /// Deletes all claims, except for those by hand and those whose event may have been told.
    func deleteClaims() throws { try database.prepare(SQL.deleteClaims).run() }

    func delete(_ fire: FireID) throws { try database.prepare(SQL.delete).run(fire) }

    /// Deletes a job's fires, `limit` at most; returns how many.
    func delete(of job: JobID, limit: Int) throws -> Int64 {
        try database.prepare(SQL.deleteOfJob).run(job, limit)
        return database.changes
    }

    enum SQL {
        static let insertClaim = """
            INSERT INTO fires
                (id, job_id, owner_id, fire_date_us, wall_date_us, state, missed, due_by_us)
            VALUES (\(DaemonState.SQL.next("fires")), ?1, ?2, ?3, ?4, 'claimed', ?5, ?6)
            ON CONFLICT (job_id, fire_date_us) DO NOTHING
            """
        static let insertByHand = """
            INSERT INTO fires (id, job_id, owner_id, fire_date_us, wall_date_us, state, reason)
            VALUES (\(DaemonState.SQL.next("fires")), ?1, ?2, ?3, ?4, 'claimed', 'manual')
            ON CONFLICT (job_id, fire_date_us) DO NOTHING
            """
        static let insertSkipped = """
            INSERT INTO fires
                (id, job_id, owner_id, fire_date_us, wall_date_us, state, reason, dates, last_date_us)
            VALUES (\(DaemonState.SQL.next("fires")), ?1, ?2, ?3, ?4, 'skipped', ?5, ?6, ?7)
            ON CONFLICT (job_id, fire_date_us) DO NOTHING
            """
        static let restoreClaim = """
            INSERT OR IGNORE INTO fires
                (id, job_id, owner_id, fire_date_us, wall_date_us, state, due_by_us)
            VALUES (?1, ?2, ?3, ?4, ?5, 'claimed', ?6)
            """
        static let state = "SELECT state FROM fires WHERE id = ?1"
        static let markClaimed = """
            UPDATE fires SET state = 'claimed', waits_until_us = NULL WHERE id = ?1
            """
        static let markFired = """
            UPDATE fires SET state = CASE state WHEN 'claimed' THEN ?2 ELSE state END, fired_at_us = ?3
            WHERE id = ?1
            """
        static let markBegun = """
            UPDATE fires SET state = 'running', waits_for = NULL, fired_at_us = coalesce(fired_at_us, ?2)
            WHERE id = ?1
            """
        static let markRunning = "UPDATE fires SET state = 'running' WHERE id = ?1"
        static let markWaiting = """
            UPDATE fires SET state = 'waiting', waits_for = ?2, waits_until_us = ?3 WHERE id = ?1
            """
        static let markQueued = "UPDATE fires SET state = 'queued', fired_at_us = ?2 WHERE id = ?1"
        /// A dead one that is retried has not failed.
        static let markTask = """
            UPDATE fires SET state = ?2, failed = CASE WHEN ?2 = 'dead' THEN failed END WHERE id = ?1
            """
        static let wallDate = "SELECT wall_date_us FROM fires WHERE id = ?1"
        static let isByHand = "SELECT reason IS 'manual' FROM fires WHERE id = ?1"
        static let markDone = "UPDATE fires SET state = 'done' WHERE id = ?1"
        /// 0 where its command has not begun, and does not any more.
        static let markFailed = "UPDATE fires SET failed = ?2 WHERE id = ?1"
        static let markSkipped = """
            UPDATE fires SET state = 'skipped', reason = ?2 WHERE id = ?1
            """
        static let setFiredAt = "UPDATE fires SET fired_at_us = ?2 WHERE id = ?1"
        static let markMaybeTold = """
            UPDATE fires SET fired_at_us = ?2 WHERE id = ?1 AND state = 'claimed'
            """
        static let keepMaybeTold = """
            UPDATE fires SET state = 'fired', fired_at_us = ?2
            WHERE id = ?1 AND state = 'claimed' AND fired_at_us IS NOT NULL
            """
        static let deleteClaim = """
            DELETE FROM fires WHERE id = ?1 AND (state = 'claimed' OR state = 'running')
            """
        static let deleteClaims = """
            DELETE FROM fires
            WHERE \(RunRow.isOpen) AND state = 'claimed'
                AND fired_at_us IS NULL AND reason IS NOT 'manual'
            """
        static let delete = "DELETE FROM fires WHERE id = ?1"
        static let deleteOfJob = """
            DELETE FROM fires WHERE id IN (SELECT id FROM fires WHERE job_id = ?1 LIMIT ?2)
            """
    }
}

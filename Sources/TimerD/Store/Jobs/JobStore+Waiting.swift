// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// The jobs that wait for a window: scheduled, not claimed, not held.
extension JobStore {
    /// When a job is due, on its clock.
    typealias Due = (date: Timestamp, id: JobID)

    /// The jobs on `clock` that are due before `end`, of all users or of `owner`, soonest first.
    func due(
        on clock: ScheduleClock,
        before end: Timestamp,
        of owner: OwnerID?,
        limit: Int
    ) throws -> [Due] {
        func read(_ row: borrowing Row) throws -> Due { (try row.get(1), try row.get(0)) }
        guard let owner else {
            return try database.prepare(SQL.due).all(clock, end, limit) { try read($0) }
        }
        return try database.prepare(SQL.dueOfOwner).all(owner, clock, end, limit) { try read($0) }
    }

    /// When the first of them on `clock` is due, of all users or of `owner`; nil for none.
    func nextDue(on clock: ScheduleClock, of owner: OwnerID?) throws -> Timestamp? {
        guard let owner else { return try database.prepare(SQL.nextDue).value(clock) }
        return try database.prepare(SQL.nextDueOfOwner).value(owner, clock)
    }

    /// When the first of them all is due, by the wall clock; nil for none.
    func nextDue(at moment: ClockReading) throws -> Timestamp? {
        try [ScheduleClock.wall, .elapsed].compactMap { clock in
            try nextDue(on: clock, of: nil).map { moment.wallDate($0, on: clock) }
        }.min()
    }

    /// The next user after `last`, in the order of the rows, with a job that waits.
    func waitingOwner(after last: OwnerID) throws -> OwnerID? {
        try database.prepare(SQL.waitingOwner).first(last) { try $0.get(0) }
    }

    // MARK: - Maintenance

    /// Stores whether the job goes on with the end of its owner's maintenance.
    func setMaintenance(_ id: JobID, _ isInMaintenance: Bool) throws {
        try database.prepare(SQL.setMaintenance).run(id, isInMaintenance)
    }

    /// The owner's jobs that are not paused.
    func scheduled(of owner: OwnerID) throws -> [JobID] {
        try database.prepare(SQL.scheduledOfOwner).all(owner) { try $0.get(0) }
    }

    /// The owner's jobs that go on with the end of its maintenance.
    func inMaintenance(of owner: OwnerID) throws -> [JobID] {
        try database.prepare(SQL.inMaintenance).all(owner) { try $0.get(0) }
    }

    // MARK: - Held jobs

    /// Stores why the job is held; nil if it is not.
    func setHeld(_ id: JobID, _ reason: String?) throws {
        try writing(id) { try database.prepare(SQL.setHeld).run(id, reason) }
    }

    func countHeld(_ change: Int) throws { try database.prepare(SQL.countHeld).run(change) }

    /// Whether any job is held, an ended one that has left fires open too.
    func isAnyHeld() throws -> Bool { try !held(after: JobID(rawValue: 0), limit: 1).isEmpty }

    /// The owner's live jobs after `cursor` that are not held, or are for `reason`.
    func unheld(of owner: OwnerID, after cursor: JobID, limit: Int, orFor reason: String?) throws
        -> [JobID]
    {
        try database.prepare(SQL.unheldOfOwner).all(owner, cursor, limit, reason) {
            try $0.get(0)
        }
    }

    /// The held jobs after `cursor`, each with whether its owner is held as well.
    func held(after cursor: JobID, limit: Int) throws -> [(id: JobID, isOwnerHeld: Bool)] {
        try database.prepare(SQL.held).all(cursor, limit) { (try $0.get(0), try $0.get(1)) }
    }
}

extension JobStore.SQL {
    private static let waits = "state = 'scheduled' AND claim_id IS NULL AND held IS NULL"
    /// Of a damaged row it may be a float, which is made an integer, so that it stands in nobody's way: the job is loaded by
    /// its own date, and gets this one anew.
    private static let dueDate = "CAST(due_us AS INTEGER)"
    /// No text and no bytes, which stand behind all numbers.
    private static let isDated = "due_us <= \(Int64.max)"

    /// Uses jobs_waiting, as does the next.
    static let due = """
        SELECT id, \(dueDate) FROM jobs INDEXED BY jobs_waiting
        WHERE clock = ?1 AND due_us < ?2 AND \(waits) ORDER BY due_us LIMIT ?3
        """
    static let nextDue = """
        SELECT \(dueDate) FROM jobs INDEXED BY jobs_waiting
        WHERE clock = ?1 AND \(isDated) AND \(waits) ORDER BY due_us LIMIT 1
        """
    /// Uses jobs_waiting_by_owner, as do the next two.
    static let dueOfOwner = """
        SELECT id, \(dueDate) FROM jobs INDEXED BY jobs_waiting_by_owner
        WHERE owner_id = ?1 AND clock = ?2 AND due_us < ?3 AND \(waits) ORDER BY due_us LIMIT ?4
        """
    static let nextDueOfOwner = """
        SELECT \(dueDate) FROM jobs INDEXED BY jobs_waiting_by_owner
        WHERE owner_id = ?1 AND clock = ?2 AND \(isDated) AND \(waits)
        ORDER BY due_us LIMIT 1
        """
    static let waitingOwner = """
        SELECT owner_id FROM jobs INDEXED BY jobs_waiting_by_owner
        WHERE owner_id > ?1 AND \(waits) ORDER BY owner_id LIMIT 1
        """
    static let setMaintenance = "UPDATE jobs SET maintenance = ?2 WHERE id = ?1"
    /// Uses jobs_by_owner.
    static let scheduledOfOwner =
        "SELECT id FROM jobs WHERE owner_id = ?1 AND state = 'scheduled' ORDER BY id"
    /// Uses jobs_in_maintenance.
    static let inMaintenance = """
        SELECT id FROM jobs WHERE owner_id = ?1 AND maintenance <> 0 AND state = 'paused' ORDER BY id
        """
    static let setHeld = "UPDATE jobs SET held = ?2 WHERE id = ?1"
    static let countHeld = "UPDATE daemon_state SET held = held + ?1"
    /// Uses jobs_by_owner.
    static let unheldOfOwner = """
        SELECT id FROM jobs
        WHERE owner_id = ?1 AND id > ?2 AND (held IS NULL OR held = ?4)
            AND (state = 'scheduled' OR state = 'paused')
        ORDER BY id LIMIT ?3
        """
    /// Uses jobs_held.
    static let held = """
        SELECT jobs.id, owners.held IS NOT NULL
        FROM jobs LEFT JOIN owners ON owners.id = jobs.owner_id
        WHERE jobs.held IS NOT NULL AND jobs.id > ?1 ORDER BY jobs.id LIMIT ?2
        """
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Jobs that are held: one that cannot be read, and those of an owner who is gone.
///
/// A held job is in no window and fires no date, whatever its state; all others go on. It goes on by
/// itself once the reason is over, and what it missed follows its misfire rule, with the reason `held`.
extension JobWriter {
    /// How many held jobs one write looks at, and how many it holds or lets go on.
    static let heldLimit = 100

    /// Holds the job, or gives another reason for it.
    ///
    /// What is open of a job that cannot be read stays as it is until it can be.
    mutating func hold(_ job: StoredJob, _ reason: String) throws {
        var job = job
        if job.unread == nil { try takeBack(&job) }
        if job.held == nil {
            try database.prepare(SQL.countHeld).run(1)
            try note(.jobHeld, job, reason)
        }
        job.held = reason
        try database.prepare(SQL.setHeld).run(job.id, reason)
        try put(job)
    }

    /// Notes that the job is not held any more, because it goes on or has ended.
    func endHold(_ job: inout StoredJob) throws {
        guard job.held != nil else { return }
        job.held = nil
        try database.prepare(SQL.setHeld).run(job.id, nil as String?)
        try database.prepare(SQL.countHeld).run(-1)
    }

    /// Holds a piece of the live jobs of an owner, those after `cursor`; those that the owner is the reason
    /// for already get the new one.
    ///
    /// - Returns: where the next piece begins; nil after the last.
    mutating func holdJobs(
        of owner: KnownOwner,
        after cursor: JobID,
        _ reason: String
    ) throws -> JobID? {
        try owners.hold(owner.id, reason)
        let select = try database.prepare(SQL.unheldOfOwner)
        let ids = try select.all(owner.id, cursor, Self.heldLimit, owner.held) {
            try $0.get(0, as: JobID.self)
        }
        for id in ids {
            if let job = try job(id) { try hold(job, reason) }
        }
        return ids.count == Self.heldLimit ? ids.last : nil
    }

    /// Looks whether held jobs may go on, those after `cursor`.
    ///
    /// `leftOpen`: jobs whose open fires the daemon before this one left, and nobody has settled;
    /// `running`: those of them with a run in progress, which are left for a later look.
    mutating func lookAtHeld(
        after cursor: JobID,
        leftOpen: Set<JobID>,
        running: Set<JobID> = []
    ) throws -> HeldLook {
        var look = HeldLook()
        try lookAtZones()
        let rows = try database.prepare(SQL.held).all(cursor, Self.heldLimit) { row in
            (id: try row.get(0, as: JobID.self), isOwnerHeld: try row.get(1, as: Bool.self))
        }
        for row in rows where !row.isOwnerHeld && !running.contains(row.id) {
            guard var job = try job(row.id) else { continue }
            if let unread = job.unread {
                if unread.reason != job.held { try hold(job, unread.reason) }
                continue
            }
            try endHold(&job)
            let date = job.wallFireDate(at: moment)
            try note(.jobReleased, job) { $0.fireDate = date }
            missedFor = .held
            defer { missedFor = nil }
            if leftOpen.contains(job.id) {
                look.settled.insert(job.id)
                try recover(of: job.id, into: &look.recovered)
                // Its next date waits, where none is claimed.
                if job.claim == nil { try orHold(job) { try $0.settleAndPut($1) } }
            } else {
                try orHold(job) { try $0.settleAndPut($1) }
            }
        }
        look.next = rows.count == Self.heldLimit ? rows.last?.id : nil
        look.count = try heldCount()
        return look
    }

    /// Closes what is open of a job that ends without ever having been read again.
    func closeOpenFires(of job: StoredJob) throws {
        try database.prepare(SQL.interruptRuns).run(job.id, moment.wall)
        try database.prepare(SQL.closeFires).run(job.id)
    }

    /// How many jobs are held.
    func heldCount() throws -> Int { try database.prepare(SQL.heldCount).value() ?? 0 }
}

/// What a look at held jobs has come to.
struct HeldLook: Sendable {
    /// Where the next piece begins; nil after the last.
    var next: JobID?
    /// How many jobs are held now.
    var count = 0
    /// Those of `leftOpen` that go on, and what was left of them.
    var settled: Set<JobID> = []
    var recovered = Recovered()
}

extension JobWriter.SQL {
    static let interruptRuns = """
        UPDATE runs SET outcome = 'interrupted', ended_at_us = ?2
        WHERE job_id = ?1 AND outcome IS NULL
        """
    /// Uses fires_open.
    static let closeFires = """
        UPDATE fires INDEXED BY fires_open
        SET state = CASE state WHEN 'claimed' THEN 'skipped' ELSE 'done' END,
            reason = CASE state WHEN 'claimed' THEN 'held' ELSE reason END
        WHERE \(RunRow.isOpen) AND job_id = ?1
        """
    static let setHeld = "UPDATE jobs SET held = ?2 WHERE id = ?1"
    static let countHeld = "UPDATE daemon_state SET held = held + ?1"
    static let heldCount = "SELECT held FROM daemon_state"
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

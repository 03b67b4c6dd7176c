// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// The rows of jobs: SQL alone, no decision.
struct JobStore {
    let database: Database

    init(_ database: Database) { self.database = database }

    // MARK: - Reading

    func job(_ id: JobID) throws -> StoredJob? {
        try database.prepare(SQL.byID).first(id) { try JobRow.job(from: $0) }
    }

    /// The job, if it is the owner's.
    ///
    /// A job of another owner takes as much work as one that does not exist.
    func job(_ id: JobID, of owner: OwnerID) throws -> StoredJob? {
        try database.prepare(SQL.byIDAndOwner).first(id, owner) { try JobRow.job(from: $0) }
    }

    /// The job without its userInfo, if it is the owner's; any job if `owner` is nil.
    func jobWithoutUserInfo(_ id: JobID, of owner: OwnerID?) throws -> StoredJob? {
        guard let owner else {
            return try database.prepare(SQL.withoutUserInfo).first(id) {
                try JobRow.job(from: $0)
            }
        }
        return try database.prepare(SQL.withoutUserInfoByOwner).first(id, owner) {
            try JobRow.job(from: $0)
        }
    }

    /// The text of its userInfo.
    func userInfo(of id: JobID) throws -> String? {
        try database.prepare(SQL.userInfo).value(id)
    }

    /// The live job of that name.
    func id(named name: String, owner: OwnerID) throws -> JobID? {
        try database.prepare(SQL.idByName).first(owner, name) { try $0.get(0) }
    }

    /// The live job of that name, else the one that was the last to have it.
    func newestID(named name: String, owner: OwnerID) throws -> JobID? {
        try database.prepare(SQL.newestIDByName).first(owner, name) { try $0.get(0) }
    }

    /// Whether a job has the tag, live or ended.
    func hasTag(_ tag: String, owner: OwnerID) throws -> Bool {
        try database.prepare(SQL.hasTag).value(tag, owner, as: Bool.self) ?? false
    }

    func liveIDs(tagged tag: String, owner: OwnerID) throws -> [JobID] {
        try database.prepare(SQL.liveIDsByTag).all(tag, owner) { try $0.get(0) }
    }

    /// The oldest live job with the tag that is newer than `id`; nil for none.
    func live(tagged tag: String, owner: OwnerID, newerThan id: JobID) throws -> JobID? {
        try database.prepare(SQL.newerTagged).value(tag, owner, id, as: JobID.self)
    }

    func liveIDs(of owner: OwnerID) throws -> [JobID] {
        try database.prepare(SQL.liveIDsOfOwner).all(owner) { try $0.get(0) }
    }

    /// The jobs that are due when the machine starts.
    func bootIDs() throws -> [JobID] {
        try database.prepare(SQL.bootIDs).all { try $0.get(0) }
    }

    /// The newest job that was added before `id`, and when.
    func added(before id: JobID) throws -> (id: JobID, addedAt: Timestamp)? {
        try database.prepare(SQL.addedBefore).first(id) { (try $0.get(0), try $0.get(1)) }
    }

    /// Looks at a piece of all jobs, at most `limit` after `cursor`, for those whose next date a clock may have found that
    /// was ahead of `now`: they were added after that, or changed at a date that is not kept.
    ///
    /// Without those that have a claim. `next`: the last one that it has looked at; nil if there are no more.
    func maybeAhead(of now: Timestamp, after cursor: JobID, limit: Int) throws
        -> (jobs: [JobID], next: JobID?)
    {
        let rows = try database.prepare(SQL.maybeAhead).all(cursor, now, limit) { row in
            (id: try row.get(0, as: JobID.self), isMeant: try row.get(1, as: Bool.self))
        }
        return (rows.filter(\.isMeant).map(\.id), rows.count == limit ? rows.last?.id : nil)
    }

    func isInvalidated(_ id: JobID) throws -> Bool {
        try database.prepare(SQL.isInvalidated).value(id, as: Bool.self) ?? false
    }

    /// What may have changed of a job since the scheduler was told of it.
    func standing(of id: JobID) throws -> (claim: FireID?, rowsSinceTrim: Int, isHeld: Bool)? {
        try database.prepare(SQL.standing).first(id) {
            (try $0.get(0), try $0.get(1), try $0.get(2))
        }
    }

    /// The jobs that have ended before `date` of the wall clock, the first of them first, from a cursor on; only those
    /// of `owner` unless it is nil.
    func ended(
        of owner: OwnerID? = nil,
        after cursor: EndedCursor,
        before date: Timestamp = .distantFuture,
        limit: Int
    ) throws -> [EndedJob] {
        func read(_ row: borrowing Row) throws -> EndedJob {
            let id: JobID = try row.get(0)
            let cursor = EndedCursor(endedAt: try row.get(1), job: id)
            return EndedJob(cursor: cursor, isOpen: try row.get(2))
        }
        guard let owner else {
            return try database.prepare(SQL.endedAfter)
                .all(cursor.endedAt, cursor.job, date, limit) { try read($0) }
        }
        return try database.prepare(SQL.endedAfterOfOwner)
            .all(cursor.endedAt, cursor.job, date, limit, owner) { try read($0) }
    }

    /// The first end of a job at `date` or later.
    func firstEnd(from date: Timestamp) throws -> Timestamp? {
        try database.prepare(SQL.firstEnd).value(date)
    }

    /// The job that was added last with a key, while it is kept.
    func id(ofKey key: String, owner: OwnerID) throws -> JobID? {
        try database.prepare(SQL.idOfKey).value(owner, key)
    }

    // MARK: - Writing

    /// Notes the job that has a key from now on.
    func keep(_ key: String, of job: JobID, owner: OwnerID) throws {
        try database.prepare(SQL.keepKey).run(owner, key, job)
    }

    /// Writes the job's state and dates; columns of it that could not be read stay as they are.
    ///
    /// `lastEvent`: the number of its last event, if that is known.
    func update(_ job: StoredJob, lastEvent: Int64? = nil) throws {
        let unread = job.state.isLive ? job.unread : nil
        try writing(job.id) {
            try database.prepare(SQL.update).run {
                $0.add(job.id)
                $0.add(job.state)
                $0.add(unread?.anchor ?? job.schedule.anchor)
                $0.add(job.fireDate)
                $0.add(unread?.dueDate ?? job.dueDate)
                $0.add(unread?.movedFrom ?? job.movedFrom)
                $0.add(job.claim?.fire)
                $0.add(job.fires)
                $0.add(job.endedAt)
                $0.add(job.endReason)
                $0.add(unread?.rowsSinceTrim ?? job.rowsSinceTrim)
                $0.add(lastEvent)
            }
        }
    }

    /// Counts one more fire of a job, and releases its claim if that is this fire.
    func countFire(_ fire: FireID, of id: JobID) throws {
        try database.prepare(SQL.countFire).run(id, fire)
    }

    /// Releases the claims of all jobs, except for fires by hand and those whose event may have been told.
    func releaseClaims() throws { try database.prepare(SQL.releaseClaims).run() }

    /// Changes the numbers of live jobs by state.
    func count(scheduled: Int64, paused: Int64) throws {
        try database.prepare(SQL.count).run(scheduled, paused)
    }

    func delete(_ id: JobID) throws { try database.prepare(SQL.delete).run(id) }

    enum SQL {
        static let byID = """
            SELECT \(JobRow.columns) FROM \(JobRow.source) WHERE jobs.id = ?1
            """
        /// Uses jobs_by_owner, in which a job of another owner takes as long to look for as one that does not
        /// exist.
        static let byIDAndOwner = """
            SELECT \(JobRow.columns)
            FROM \(JobRow.source.replacing("jobs JOIN", with: "jobs INDEXED BY jobs_by_owner JOIN"))
            WHERE jobs.owner_id = ?2 AND jobs.id = ?1
            """
        static let withoutUserInfo = byID.replacing(
            JobRow.columns,
            with: JobRow.columnsWithoutUserInfo
        )
        static let withoutUserInfoByOwner = byIDAndOwner.replacing(
            JobRow.columns,
            with: JobRow.columnsWithoutUserInfo
        )
        static let userInfo = "SELECT user_info FROM job_definitions WHERE job_id = ?1"
        static let idByName =
            "SELECT job_id FROM job_names WHERE owner_id = ?1 AND name = ?2 AND live = 1"
        static let newestIDByName =
            "SELECT job_id FROM job_names WHERE owner_id = ?1 AND name = ?2"
        static let hasTag = """
            SELECT EXISTS (SELECT 1 FROM job_tags WHERE tag = ?1 AND owner_id = ?2)
            """
        static let liveIDsByTag = """
            SELECT job_tags.job_id FROM job_tags JOIN jobs ON jobs.id = job_tags.job_id
            WHERE job_tags.tag = ?1 AND job_tags.owner_id = ?2
                AND jobs.state IN ('scheduled', 'paused')
            """
        static let newerTagged = newerTagged(in: "main")
        /// The statement `newerTagged` for the database that is attached as `schema`.
        ///
        /// Reads no job up to that one, of which there may be many.
        static func newerTagged(in schema: String) -> String {
            """
            SELECT t.job_id FROM \(schema).job_tags AS t CROSS JOIN \(schema).jobs AS j ON j.id = t.job_id
            WHERE t.tag = ?1 AND t.owner_id = ?2 AND t.job_id > ?3
                AND (j.state = 'scheduled' OR j.state = 'paused')
            ORDER BY t.job_id LIMIT 1
            """
        }
        /// Uses jobs_by_owner.
        static let liveIDsOfOwner = """
            SELECT id FROM jobs
            WHERE owner_id = ?1 AND (state = 'scheduled' OR state = 'paused') ORDER BY id
            """
        /// All of them, each with a look at its job; left to itself, SQLite looks at all jobs.
        static let bootIDs = """
            SELECT boot_jobs.job_id FROM boot_jobs CROSS JOIN jobs ON jobs.id = boot_jobs.job_id
            WHERE jobs.state IN ('scheduled', 'paused')
            """
        static let addedBefore = """
            SELECT job_id, added_at_us FROM job_definitions
            WHERE job_id < ?1 ORDER BY job_id DESC LIMIT 1
            """
        /// By the key of the jobs, with a look at the definition of each that can be meant.
        static let maybeAhead = """
            SELECT jobs.id, coalesce(CASE
                WHEN (jobs.state = 'scheduled' OR jobs.state = 'paused') AND jobs.clock = 'wall'
                    AND jobs.claim_id IS NULL AND jobs.fire_date_us > ?2
                THEN (SELECT d.added_at_us > ?2 OR d.revision > 1 FROM job_definitions AS d
                    WHERE d.job_id = jobs.id)
                END, 0)
            FROM jobs WHERE jobs.id > ?1 ORDER BY jobs.id LIMIT ?3
            """
        static let isInvalidated = "SELECT state = 'invalidated' FROM jobs WHERE id = ?1"
        static let standing =
            "SELECT claim_id, rows_since_trim, held IS NOT NULL FROM jobs WHERE id = ?1"
        /// Uses jobs_ended.
        static let endedAfter = """
            SELECT jobs.id, jobs.ended_at_us, EXISTS (
                SELECT 1 FROM fires WHERE fires.job_id = jobs.id AND \(RunRow.isUnfinished))
                OR EXISTS (SELECT 1 FROM notices WHERE notices.job_id = jobs.id)
            FROM jobs
            WHERE (jobs.ended_at_us, jobs.id) > (?1, ?2) AND jobs.ended_at_us < ?3
            ORDER BY jobs.ended_at_us, jobs.id LIMIT ?4
            """
        /// Uses jobs_ended_by_owner.
        static let endedAfterOfOwner = endedAfter.replacing(
            "WHERE (",
            with: "WHERE jobs.owner_id = ?5 AND ("
        )
        static let idOfKey = "SELECT job_id FROM job_keys WHERE owner_id = ?1 AND key = ?2"
        static let keepKey = """
            INSERT INTO job_keys (owner_id, key, job_id) VALUES (?1, ?2, ?3)
            ON CONFLICT (owner_id, key) DO UPDATE SET job_id = ?3
            """
        static let firstEnd = """
            SELECT ended_at_us FROM jobs WHERE ended_at_us >= ?1 ORDER BY ended_at_us LIMIT 1
            """
        static let update = """
            UPDATE jobs SET state = ?2, anchor_us = ?3, fire_date_us = ?4, due_us = ?5,
                moved_from_us = ?6, claim_id = ?7,
                fires = iif(fires < \(1 << 62) OR ?9 IS NOT NULL, ?8, fires),
                ended_at_us = ?9, end_reason = ?10,
                rows_since_trim = ?11, last_seq = coalesce(?12, last_seq)
            WHERE id = ?1
            """
        static let countFire = """
            UPDATE jobs SET fires = fires + 1, claim_id = nullif(claim_id, ?2) WHERE id = ?1
            """
        /// Finds the claims by fires_open, not by a look at all jobs.
        static let releaseClaims = """
            UPDATE jobs SET claim_id = NULL WHERE id IN (
                SELECT job_id FROM fires
                WHERE \(RunRow.isOpen) AND state = 'claimed'
                    AND fired_at_us IS NULL AND reason IS NOT 'manual')
                AND (SELECT fired_at_us FROM fires WHERE id = claim_id) IS NULL
            """
        static let count = """
            UPDATE daemon_state SET scheduled = scheduled + ?1, paused = paused + ?2
            """
        static let delete = "DELETE FROM jobs WHERE id = ?1"
    }
}

/// Cursor in the list of ended jobs, in the order of their ends; some look from its first job on, some from its last.
struct EndedCursor: Hashable, Sendable {
    /// Ahead of all.
    static let first = Self(endedAt: .distantPast, job: JobID(rawValue: 0))
    /// Behind all.
    static let last = Self(endedAt: .distantFuture, job: JobID(rawValue: .max))

    /// By the wall clock.
    var endedAt: Timestamp
    var job: JobID
}

/// A job that has ended, for whoever makes room.
struct EndedJob: Sendable {
    var cursor: EndedCursor
    /// Whether something of it is still in progress: a run, a task, or a notice that waits.
    var isOpen: Bool
}

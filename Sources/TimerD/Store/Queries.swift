// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// What may be asked of the database without changing it; runs on the reader's connection.
struct Queries {
    let database: Database

    init(_ database: Database) { self.database = database }

    /// Jobs by growing id, after `filter.cursor`; those of `owner` alone unless it is nil.
    ///
    /// Held ones alone where the filter says so, which are few: their work does not grow with the rest.
    ///
    /// `isIdle`: only those that have no next fire; `end`: the last number that is looked at. Fewer than there are where
    /// `room` is full.
    func jobs(
        _ filter: ListJobs,
        owner: OwnerID?,
        limit: Int,
        isIdle: Bool = false,
        isWithoutUserInfo: Bool = false,
        through end: JobID? = nil,
        in room: PageRoom? = nil
    ) throws -> [StoredJob] {
        let hasLast = filter.last == true
        func read(_ row: borrowing Row) throws -> StoredJob? {
            if let room, !room.takes(job: row, hasLast: hasLast) { return nil }
            return try JobRow.job(from: row)
        }
        let all = filter.all == true || filter.state != nil
        var sql =
            switch (filter.tag, owner) {
            case (nil, _) where filter.held == true: SQL.heldJobs
            case (_, _) where filter.held == true: SQL.heldJobsByTag
            case (nil, nil): isIdle && !all ? SQL.idleJobs : SQL.jobs
            case (nil, _): SQL.jobsOfOwner
            case (_, nil): SQL.jobsByTag
            default: SQL.jobsOfOwnerByTag
            }
        if isWithoutUserInfo { sql = SQL.withoutUserInfo(sql) }
        let select = try database.prepare(sql)
        var after = JobID(rawValue: 0)
        if case .id(let id) = filter.cursor { after = id }
        let search = filter.search.map(JobSearch.init)
        return try select.page(
            after,
            filter.state,
            all,
            filter.name,
            owner,
            limit,
            isIdle,
            search?.text,
            search?.json,
            search?.id,
            end ?? JobID(rawValue: .max),
            filter.tag
        ) { try read($0) }
    }

    /// How many jobs a page of a list by number looks at, of which a filter may leave none: others' lists wait for it.
    static let mostLookedAt = 10_000

    /// Where a page of `jobs` ends that has looked at so many; nil where it comes to the last one before that, or where what it
    /// looks at is found by an index.
    func end(_ filter: ListJobs, owner: OwnerID?) throws -> JobID? {
        guard filter.tag == nil, filter.held != true else { return nil }
        guard filter.search != nil || filter.name != nil || filter.state != nil else { return nil }
        var after = JobID(rawValue: 0)
        if case .id(let id) = filter.cursor { after = id }
        let sql = owner == nil ? SQL.idAfterSome : SQL.idOfOwnerAfterSome
        return try database.prepare(sql).value(after, Self.mostLookedAt - 1, owner)
    }

    /// The row of the only owner whose rows may be read; nil for all.
    func id(of owner: Owner?) throws -> OwnerID? {
        try owner.map { try Owners(database).id(of: $0) }
    }

    /// The same for `words` that mean one user, among those that the caller may know of.
    func owner(meant words: String?, _ caller: Caller) throws -> OwnerID? {
        guard let words else { return try id(of: caller.onlyOwner) }
        let owners = try Owners(database).meant(by: words, caller)
        guard owners.count <= 1 else {
            let names = owners.map { "'\($0.owner.name)' (uid \($0.owner.uid))" }
            throw ControlError(
                .invalidParams,
                "parameter 'owner' is '\(words)', which is \(names.joined(separator: " and "))"
            )
        }
        return owners.first?.id ?? .nobody
    }

    func job(_ id: JobID) throws -> StoredJob? { try JobStore(database).job(id) }

    /// The same for a page; nil also if `room` has no place for it, and is full then.
    func job(_ id: JobID, hasLast: Bool, in room: PageRoom?) throws -> StoredJob? {
        try database.prepare(JobStore.SQL.byID).page(id) { row -> StoredJob? in
            if let room, !room.takes(job: row, hasLast: hasLast) { return nil }
            return try JobRow.job(from: row)
        }.first
    }

    /// The same, if the caller may know of it.
    ///
    /// A job of another owner takes as much work as one that does not exist.
    func job(_ id: JobID, for caller: Caller) throws -> StoredJob? {
        guard let owner = try self.id(of: caller.onlyOwner) else { return try job(id) }
        return try JobStore(database).job(id, of: owner)
    }

    /// The live job of that name, else the one that was the last to have it.
    func jobID(named name: String, owner: OwnerID) throws -> JobID? {
        try JobStore(database).newestID(named: name, owner: owner)
    }

    func run(_ id: RunID) throws -> Run? {
        try database.prepare(SQL.run).first(id) { RunRow.run(from: $0).run }
    }

    /// The same, if the caller may know of it.
    func run(_ id: RunID, for caller: Caller) throws -> Run? {
        guard let owner = try self.id(of: caller.onlyOwner) else { return try run(id) }
        return try database.prepare(SQL.runOfOwner).first(id, owner) {
            RunRow.run(from: $0).run
        }
    }

    func liveJobs() throws -> (scheduled: Int, paused: Int, held: Int) {
        try database.prepare(SQL.liveJobs).first {
            (try $0.get(0), try $0.get(1), try $0.get(2))
        } ?? (0, 0, 0)
    }

    enum SQL {
        static let jobs = """
            SELECT \(JobRow.columns) FROM \(JobRow.source)
            WHERE jobs.id > ?1 AND jobs.id <= ?11 AND ?12 IS NULL
                AND (jobs.state = ?2 OR ?2 IS NULL)
                AND (?3 = 1 OR jobs.state NOT IN ('finished', 'invalidated'))
                AND (job_definitions.name = ?4 OR ?4 IS NULL)
                AND (jobs.owner_id = ?5 OR ?5 IS NULL)
                AND \(JobSearch.condition(text: "?8", json: "?9", id: "?10"))
                AND (?7 = 0 OR jobs.state <> 'scheduled' OR jobs.due_us IS NULL
                    OR jobs.held IS NOT NULL)
            ORDER BY jobs.id LIMIT ?6
            """
        /// The number of the one that comes so many behind another.
        static let idAfterSome = """
            SELECT id FROM jobs WHERE id > ?1 AND ?3 IS NULL ORDER BY id LIMIT 1 OFFSET ?2
            """
        /// Uses jobs_by_owner.
        static let idOfOwnerAfterSome = """
            SELECT id FROM jobs WHERE owner_id = ?3 AND id > ?1 ORDER BY id LIMIT 1 OFFSET ?2
            """
        static func withoutUserInfo(_ sql: String) -> String {
            sql.replacing(JobRow.columns, with: JobRow.columnsWithoutUserInfo)
        }
        /// Uses jobs_idle.
        static let idleJobs = jobs.replacing(
            """
            (?7 = 0 OR jobs.state <> 'scheduled' OR jobs.due_us IS NULL
                    OR jobs.held IS NOT NULL)
            """,
            with: """
                ?7 = 1 AND (
                    (jobs.state <> 'scheduled' AND jobs.state <> 'finished'
                        AND jobs.state <> 'invalidated')
                    OR (jobs.state = 'scheduled' AND (jobs.due_us IS NULL OR jobs.held IS NOT NULL)))
                """
        )
        /// Uses jobs_held.
        static let heldJobs =
            jobs
            .replacing("FROM jobs JOIN", with: "FROM jobs INDEXED BY jobs_held JOIN")
            .replacing("WHERE", with: "WHERE jobs.held IS NOT NULL AND")
        /// Uses jobs_held, and looks up in job_tags whether each has the tag.
        static let heldJobsByTag = heldJobs.replacing(
            "?12 IS NULL",
            with: """
                EXISTS (SELECT 1 FROM job_tags
                    WHERE \(ownTags("jobs.owner_id", "?12")) AND job_tags.job_id = jobs.id)
                """
        )
        /// Uses jobs_by_owner.
        static let jobsOfOwner = jobs.replacing(
            "(jobs.owner_id = ?5 OR ?5 IS NULL)",
            with: "jobs.owner_id = ?5"
        )
        /// Looks into job_tags once for each owner.
        static let jobsByTag = jobs.replacing(
            "?12 IS NULL",
            with: "jobs.id IN (\(tagged("?12")))"
        )
        /// Uses the primary key of job_tags, in its order.
        static let jobsOfOwnerByTag =
            jobsOfOwner
            .replacing(
                "FROM jobs",
                with: "FROM job_tags CROSS JOIN jobs ON jobs.id = job_tags.job_id"
            )
            .replacing(
                "jobs.id > ?1 AND jobs.id <= ?11 AND ?12 IS NULL",
                with: "\(ownTags("?5", "?12")) AND job_tags.job_id > ?1 AND job_tags.job_id <= ?11"
            )
            .replacing("ORDER BY jobs.id", with: "ORDER BY job_tags.job_id")
        /// The jobs of all users that have a tag.
        static func tagged(_ tag: String) -> String {
            """
            SELECT job_tags.job_id FROM owners AS tagging CROSS JOIN job_tags
            ON job_tags.owner_id = tagging.id AND job_tags.tag = \(tag)
            """
        }
        /// The rows of job_tags that are one owner's.
        static func ownTags(_ owner: String, _ tag: String) -> String {
            "job_tags.owner_id = \(owner) AND job_tags.tag = \(tag)"
        }
        static let run = """
            SELECT \(RunRow.columns), fires.id FROM \(RunRow.source) WHERE runs.id = ?1
            """
        /// Of another owner's run it reads only whose it is.
        static let runOfOwner = """
            SELECT \(RunRow.columns), fires.id
            FROM runs CROSS JOIN fires ON fires.id = runs.fire_id
            WHERE runs.id = ?1 AND fires.owner_id = ?2
            """
        static let liveJobs = """
            SELECT scheduled + \(Outbox.SQL.sum("scheduled")),
                paused + \(Outbox.SQL.sum("paused")), held
            FROM daemon_state
            """
    }
}

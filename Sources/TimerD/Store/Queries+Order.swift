// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// The list of jobs in the order of their next fires.
extension Queries {
    /// A job, and when it fires by the wall clock.
    private struct DueJob {
        var date: Timestamp
        var id: JobID
    }

    /// The jobs that fire, soonest first, then the others, by growing id; each with the cursor of a page that
    /// ends with it.
    ///
    /// For all users' jobs without a filter the work grows with the page: jobs that wait are in an index, and
    /// claimed ones are those that the scheduler has in hand. With a filter it grows with the jobs of the
    /// owner, or of the tag. There are fewer jobs if `room` is full.
    func jobsByNextFire(
        _ filter: ListJobs,
        owner: OwnerID?,
        at moment: ClockReading,
        limit: Int,
        in room: PageRoom? = nil
    ) throws -> [(job: StoredJob, end: JobCursor)] {
        var jobs: [(job: StoredJob, end: JobCursor)] = []
        var idleAfter = JobID(rawValue: 0)
        if case .idle(let id) = filter.cursor {
            idleAfter = id
        } else if filter.state ?? .scheduled == .scheduled {
            var after = DueJob(date: .distantPast, id: JobID(rawValue: 0))
            if case .fire(let date, let id) = filter.cursor { after = DueJob(date: date, id: id) }
            let isFiltered =
                owner != nil || filter.tag != nil || filter.name != nil || filter.search != nil
            let due =
                try isFiltered
                ? dueJobs(filter, owner: owner, after: after, at: moment, limit: limit)
                : dueJobs(after: after, at: moment, limit: limit)
            for due in due {
                let job = try job(due.id, hasLast: filter.last == true, in: room)
                if let job { jobs.append((job, .fire(due.date, due.id))) }
                if room?.isFull == true { return jobs }
            }
        }
        guard jobs.count < limit else { return jobs }
        var idle = filter
        idle.cursor = .id(idleAfter)
        jobs += try self.jobs(idle, owner: owner, limit: limit - jobs.count, isIdle: true, in: room)
            .map { ($0, .idle($0.id)) }
        return jobs
    }

    /// From all jobs of all users.
    private func dueJobs(after: DueJob, at moment: ClockReading, limit: Int) throws -> [DueJob] {
        var due: [DueJob] = []
        for clock in [ScheduleClock.wall, .elapsed] {
            let start = moment.date(ofWall: after.date, on: clock)
            func read(_ row: borrowing Row) throws -> DueJob {
                let date: Timestamp = try row.get(0)
                return DueJob(date: moment.wallDate(date, on: clock), id: try row.get(1))
            }
            // Two queries, so that many jobs on one date are not read again for each page.
            due += try database.prepare(SQL.waitingThen).all(clock, start, after.id, limit) {
                try read($0)
            }
            due += try database.prepare(SQL.waitingAfter).all(clock, start, limit) { try read($0) }
        }
        due += try database.prepare(SQL.claimed).all { row in
            let date: Timestamp = try row.get(0)
            return DueJob(date: moment.wallDate(date, on: try row.get(2)), id: try row.get(1))
        }.filter { ($0.date, $0.id) > (after.date, after.id) }
        due.sort { ($0.date, $0.id) < ($1.date, $1.id) }
        return Array(due.prefix(limit))
    }

    /// From the jobs that a filter leaves.
    private func dueJobs(
        _ filter: ListJobs,
        owner: OwnerID?,
        after: DueJob,
        at moment: ClockReading,
        limit: Int
    ) throws -> [DueJob] {
        let sql = SQL.dueJobs(hasOwner: owner != nil, hasTag: filter.tag != nil)
        let select = try database.prepare(sql)
        let wallOffset = moment.wallOffset.microseconds
        func read(_ row: borrowing Row) throws -> DueJob {
            DueJob(date: try row.get(0), id: try row.get(1))
        }
        let search = filter.search.map(JobSearch.init)
        return try select.all(
            wallOffset,
            after.date,
            after.id,
            limit,
            filter.name,
            owner,
            search?.text,
            search?.json,
            search?.id,
            filter.tag
        ) { try read($0) }
    }

    /// What became of the job's newest date that has come: the last attempt of its own command.
    func lastRun(of job: JobID, at moment: ClockReading) throws -> Run? {
        try database.prepare(SQL.lastRun).first(job, moment.wall) { RunRow.run(from: $0).run }
    }
}

extension Queries.SQL {
    /// Uses jobs_waiting, as does the next.
    static let waitingThen = """
        SELECT due_us, id FROM jobs
        WHERE clock = ?1 AND due_us = ?2 AND id > ?3 AND state = 'scheduled' AND claim_id IS NULL
            AND held IS NULL
        ORDER BY id LIMIT ?4
        """
    static let waitingAfter = """
        SELECT due_us, id FROM jobs
        WHERE clock = ?1 AND due_us > ?2 AND state = 'scheduled' AND claim_id IS NULL
            AND held IS NULL
        ORDER BY due_us, id LIMIT ?3
        """
    /// Uses fires_open.
    static let claimed = """
        SELECT jobs.due_us, jobs.id, jobs.clock
        FROM fires INDEXED BY fires_open CROSS JOIN jobs ON jobs.id = fires.job_id AND jobs.claim_id = fires.id
        WHERE \(RunRow.isOpen)
            AND jobs.state = 'scheduled' AND jobs.due_us IS NOT NULL AND jobs.held IS NULL
        """

    /// Uses jobs_by_owner, or the tag's own order.
    static func dueJobs(hasOwner: Bool, hasTag: Bool) -> String {
        let date = "jobs.due_us + iif(jobs.clock = 'elapsed', ?1, 0)"
        let isOwn = hasOwner ? "jobs.owner_id = ?6" : "?6 IS NULL"
        let (tags, hasThatTag) =
            switch (hasTag, hasOwner) {
            case (false, _): ("", "?10 IS NULL AND ")
            case (true, false): ("", "jobs.id IN (\(tagged("?10"))) AND ")
            case (true, true):
                (
                    "job_tags CROSS JOIN ",
                    "\(ownTags("?6", "?10")) AND jobs.id = job_tags.job_id AND "
                )
            }
        return """
            SELECT \(date), jobs.id
            FROM \(tags)\(JobRow.source)
            WHERE \(hasThatTag)jobs.state = 'scheduled' AND jobs.due_us IS NOT NULL AND jobs.held IS NULL
                AND (\(date), jobs.id) > (?2, ?3)
                AND (job_definitions.name = ?5 OR ?5 IS NULL)
                AND \(JobSearch.condition(text: "?7", json: "?8", id: "?9"))
                AND \(isOwn)
            ORDER BY 1, 2 LIMIT ?4
            """
    }

    static let lastRun = """
        SELECT \(RunRow.columns), fires.id FROM \(RunRow.source)
        WHERE fires.job_id = ?1 AND fires.state NOT IN ('claimed', 'forgotten')
            AND fires.wall_date_us <= ?2 AND coalesce(runs.handler, 0) = 0
        ORDER BY fires.fire_date_us DESC, runs.id DESC LIMIT 1
        """
}

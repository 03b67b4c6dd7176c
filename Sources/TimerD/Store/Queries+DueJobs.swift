// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// The jobs that fire soonest.
extension Queries {
    /// The soonest behind `after`.
    func dueJobs(
        _ filter: ListJobs,
        owner: OwnerID?,
        after: DueJob,
        at moment: ClockReading,
        limit: Int
    ) throws -> DueJobs {
        if filter.name != nil {
            return try fewDueJobs(
                filter,
                .named,
                owner: owner,
                after: after,
                at: moment,
                limit: limit
            )
        }
        if let tag = filter.tag, try !isOnMany(tag, owner: owner) {
            return try fewDueJobs(
                filter,
                .tagged,
                owner: owner,
                after: after,
                at: moment,
                limit: limit
            )
        }
        let parts = [
            try claimedJobs(filter, owner: owner, after: after, at: moment),
            try waitingJobs(
                filter,
                owner: owner,
                on: .wall,
                after: after,
                at: moment,
                limit: limit
            ),
            try waitingJobs(
                filter,
                owner: owner,
                on: .elapsed,
                after: after,
                at: moment,
                limit: limit
            ),
        ]
        // Behind the first end there may be some of that part that were not looked at.
        let end = parts.compactMap(\.end).min()
        let jobs = parts.flatMap(\.jobs).filter { job in end.map { job <= $0 } ?? true }.sorted()
        return DueJobs(jobs: Array(jobs.prefix(limit)), end: end)
    }

    /// Of the jobs that wait on one clock.
    private func waitingJobs(
        _ filter: ListJobs,
        owner: OwnerID?,
        on clock: ScheduleClock,
        after: DueJob,
        at moment: ClockReading,
        limit: Int
    ) throws -> DueJobs {
        var found = DueJobs()
        var lookedAt = 0
        let search = filter.search.map(JobSearch.init)
        // Two queries, so that many jobs on one date are not read again for each page.
        for part in DuePart.allCases where found.end == nil {
            let sql = SQL.waiting(part, hasOwner: owner != nil, isFiltered: filter.isNarrowed)
            _ = try database.prepare(sql).page(
                clock,
                moment.date(ofWall: after.date, on: clock),
                after.id,
                owner,
                filter.tag,
                search?.text,
                search?.json,
                search?.id
            ) { row -> Void? in
                let date = moment.wallDate(try row.get(0), on: clock)
                let job = DueJob(date: date, id: try row.get(1))
                lookedAt += 1
                if try row.get(2, as: Bool.self) { found.jobs.append(job) }
                guard found.jobs.count < limit, lookedAt < mostLookedAt else {
                    found.end = job
                    return nil
                }
                return ()
            }
        }
        return found
    }

    /// All of those that are claimed behind `after`.
    private func claimedJobs(
        _ filter: ListJobs,
        owner: OwnerID?,
        after: DueJob,
        at moment: ClockReading
    ) throws -> DueJobs {
        let search = filter.search.map(JobSearch.init)
        let hasIndex = owner ?? .root != .root
        var found = DueJobs()
        let sql = SQL.claimed(hasIndexOfOwner: hasIndex, isFiltered: filter.isNarrowed)
        try database.prepare(sql).forEach(
            owner,
            filter.tag,
            search?.text,
            search?.json,
            search?.id
        ) { row in
            let date = moment.wallDate(try row.get(0), on: try row.get(2))
            let job = DueJob(date: date, id: try row.get(1))
            if after < job { found.jobs.append(job) }
        }
        return found
    }

    /// Of the jobs with a name or a tag, which are few.
    private func fewDueJobs(
        _ filter: ListJobs,
        _ few: FewJobs,
        owner: OwnerID?,
        after: DueJob,
        at moment: ClockReading,
        limit: Int
    ) throws -> DueJobs {
        let search = filter.search.map(JobSearch.init)
        let select = try database.prepare(SQL.dueJobs(few, hasOwner: owner != nil))
        let jobs = try select.all(
            moment.wallOffset.microseconds,
            after.date,
            after.id,
            limit,
            filter.name,
            owner,
            search?.text,
            search?.json,
            search?.id,
            filter.tag
        ) { DueJob(date: try $0.get(0), id: try $0.get(1)) }
        return DueJobs(jobs: jobs)
    }
}

extension ListJobs {
    /// Whether each job has to be looked at.
    fileprivate var isNarrowed: Bool { tag != nil || search != nil }
}

/// A job, and when it fires by the wall clock.
struct DueJob: Comparable {
    var date: Timestamp
    var id: JobID

    var cursor: JobCursor { .fire(date, id) }

    static func < (left: Self, right: Self) -> Bool {
        (left.date, left.id) < (right.date, right.id)
    }
}

/// Some jobs that fire.
struct DueJobs {
    var jobs: [DueJob] = []
    /// The last one that was looked at, where there may be more behind it.
    var end: DueJob?
}

extension Queries {
    /// Where a page goes on: with the rest of the date on which the one before ended, then behind it.
    enum DuePart: CaseIterable {
        case onDate
        case behind
    }

    /// Whose jobs are few, and found by it.
    enum FewJobs: CaseIterable {
        case named
        case tagged
    }
}

extension Queries.SQL {
    /// Uses jobs_waiting, or jobs_waiting_by_owner.
    ///
    /// Each takes the same values, up to ?8, and says of each row whether it matches.
    static func waiting(_ part: Queries.DuePart, hasOwner: Bool, isFiltered: Bool) -> String {
        let isBehind =
            switch part {
            case .onDate: "jobs.due_us = ?2 AND jobs.id > ?3"
            case .behind: "jobs.due_us > ?2 AND \(any("?3"))"
            }
        let isMatch = isFiltered ? isMatch(tag: "?5", search: "?6", "?7", "?8") : any("?8")
        return """
            SELECT jobs.due_us, jobs.id, \(isMatch)
            FROM jobs INDEXED BY \(hasOwner ? "jobs_waiting_by_owner" : "jobs_waiting")
            \(isFiltered ? definitions : "")
            WHERE \(hasOwner ? "jobs.owner_id = ?4" : "?4 IS NULL") AND jobs.clock = ?1 AND \(isBehind)
                AND jobs.state = 'scheduled' AND jobs.claim_id IS NULL AND jobs.held IS NULL
            ORDER BY jobs.due_us, jobs.id
            """
    }

    /// Uses fires_open_by_owner for an owner that is not root, else fires_open.
    static func claimed(hasIndexOfOwner: Bool, isFiltered: Bool) -> String {
        let isOwn =
            hasIndexOfOwner
            ? "fires.owner_id = ?1 AND fires.owner_id <> 0" : "(fires.owner_id = ?1 OR ?1 IS NULL)"
        let isMatch = isFiltered ? isMatch(tag: "?2", search: "?3", "?4", "?5") : any("?5")
        return """
            SELECT jobs.due_us, jobs.id, jobs.clock
            FROM fires INDEXED BY \(hasIndexOfOwner ? "fires_open_by_owner" : "fires_open")
            CROSS JOIN jobs ON jobs.id = fires.job_id AND jobs.claim_id = fires.id
            \(isFiltered ? definitions : "")
            WHERE \(RunRow.isOpen) AND \(isOwn) AND \(isMatch)
                AND jobs.state = 'scheduled' AND jobs.due_us IS NOT NULL AND jobs.held IS NULL
            """
    }

    private static let definitions =
        "CROSS JOIN job_definitions ON job_definitions.job_id = jobs.id"

    /// Whether a job has a tag, and what is searched for.
    private static func isMatch(tag: String, search text: String, _ json: String, _ id: String)
        -> String
    {
        """
        ((\(tag) IS NULL OR \(hasTag(tag)))
            AND coalesce(\(JobSearch.condition(text: text, json: json, id: id)), FALSE))
        """
    }

    /// Sorts those that a name or a tag leads to.
    static func dueJobs(_ few: Queries.FewJobs, hasOwner: Bool) -> String {
        let date = "jobs.due_us + iif(jobs.clock = 'elapsed', ?1, 0)"
        let (tags, isOneOfThem) =
            switch (few, hasOwner) {
            case (.named, false): ("", "jobs.id IN (\(named("?5")))")
            case (.named, true): ("", "jobs.id IN (\(named("?5", of: "?6")))")
            case (.tagged, false): ("", "jobs.id IN (\(tagged("?10")))")
            case (.tagged, true):
                (
                    "job_tags CROSS JOIN ",
                    "\(ownTags("?6", "?10")) AND jobs.id = job_tags.job_id"
                )
            }
        return """
            SELECT \(date), jobs.id
            FROM \(tags)\(JobRow.source)
            WHERE \(isOneOfThem) AND \(hasOwner ? "jobs.owner_id = ?6" : "?6 IS NULL")
                AND jobs.state = 'scheduled' AND jobs.due_us IS NOT NULL AND jobs.held IS NULL
                AND (\(date), jobs.id) > (?2, ?3)
                AND (job_definitions.name = ?5 OR ?5 IS NULL)
                AND (?10 IS NULL OR \(hasTag("?10")))
                AND \(JobSearch.condition(text: "?7", json: "?8", id: "?9"))
            ORDER BY 1, 2 LIMIT ?4
            """
    }
}

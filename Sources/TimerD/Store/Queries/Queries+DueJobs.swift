// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// Which jobs are looked for in the order of their next fires.
struct DueSearch {
    let filter: ListJobs
    let owner: OwnerID?
    let moment: ClockReading
    /// Where the page before ended.
    var after = DueJob(date: .distantPast, id: JobID(rawValue: 0))
    /// How many at most.
    let limit: Int
    fileprivate let words: JobSearch?

    init(_ filter: ListJobs, owner: OwnerID?, at moment: ClockReading, limit: Int) {
        (self.filter, self.owner, self.moment, self.limit) = (filter, owner, moment, limit)
        if case .fire(let date, let id) = filter.cursor { after = DueJob(date: date, id: id) }
        words = filter.search.map(JobSearch.init)
    }

    /// Whether each job has to be looked at.
    fileprivate var isNarrowed: Bool { filter.tag != nil || words != nil }
}

/// The jobs that fire soonest.
extension Queries {
    func dueJobs(_ search: DueSearch) throws -> DueJobs {
        if search.filter.name != nil { return try fewDueJobs(search, .named) }
        // What few jobs have to be searched may be much: the walk below looks at a part of it.
        if search.words == nil, let tag = search.filter.tag, try !isOnMany(tag, owner: search.owner)
        {
            return try fewDueJobs(search, .tagged)
        }
        let parts = [
            try claimedJobs(search),
            try waitingJobs(search, on: .wall),
            try waitingJobs(search, on: .elapsed),
        ]
        // Behind the first end there may be some of that part that were not looked at.
        let end = parts.compactMap(\.end).min()
        let jobs = parts.flatMap(\.jobs).filter { job in end.map { job <= $0 } ?? true }.sorted()
        return DueJobs(jobs: Array(jobs.prefix(search.limit)), end: end)
    }

    /// Of the jobs that wait on one clock.
    private func waitingJobs(_ search: DueSearch, on clock: ScheduleClock) throws -> DueJobs {
        var found = DueJobs()
        var (lookedAt, searched) = (0, 0)
        let (moment, hasOwner) = (search.moment, search.owner != nil)
        // Two queries, so that many jobs on one date are not read again for each page.
        for part in DuePart.allCases where found.end == nil {
            let sql = SQL.waiting(part, hasOwner: hasOwner, isFiltered: search.isNarrowed)
            _ = try database.prepare(sql).page(
                clock,
                moment.date(ofWall: search.after.date, on: clock),
                search.after.id,
                search.owner,
                search.filter.tag,
                search.words?.text,
                search.words?.json,
                search.words?.id
            ) { row -> Void? in
                let date = moment.wallDate(try row.get(0), on: clock)
                let job = DueJob(date: date, id: try row.get(1))
                lookedAt += 1
                searched += try row.get(3, as: Int.self)
                if try row.get(2, as: Bool.self) { found.jobs.append(job) }
                guard found.jobs.count < search.limit, lookedAt < mostLookedAt,
                    searched < mostSearched
                else {
                    found.end = job
                    return nil
                }
                return ()
            }
        }
        return found
    }

    /// Of those that are claimed; where each is to be looked at, as many as a page looks at.
    private func claimedJobs(_ search: DueSearch) throws -> DueJobs {
        let hasIndex = search.owner ?? .root != .root
        var claimed: [DueJob] = []
        try database.prepare(SQL.claimed(hasIndexOfOwner: hasIndex)).forEach(search.owner) { row in
            let date = search.moment.wallDate(try row.get(0), on: try row.get(2))
            let job = DueJob(date: date, id: try row.get(1))
            if search.after < job { claimed.append(job) }
        }
        guard search.isNarrowed else { return DueJobs(jobs: claimed) }
        var found = DueJobs()
        var (lookedAt, searched) = (0, 0)
        let match = try database.prepare(SQL.claimedMatch)
        for job in claimed.sorted() {
            try match.forEach(
                job.id,
                search.filter.tag,
                search.words?.text,
                search.words?.json,
                search.words?.id
            ) { row in
                if try row.get(0, as: Bool.self) { found.jobs.append(job) }
                searched += try row.get(1, as: Int.self)
            }
            lookedAt += 1
            guard found.jobs.count < search.limit, lookedAt < mostLookedAt,
                searched < mostSearched
            else {
                found.end = job
                break
            }
        }
        return found
    }

    /// Of the jobs with a name or a tag, which are few.
    private func fewDueJobs(_ search: DueSearch, _ few: FewJobs) throws -> DueJobs {
        let select = try database.prepare(SQL.dueJobs(few, hasOwner: search.owner != nil))
        let jobs = try select.all(
            search.moment.wallOffset.microseconds,
            search.after.date,
            search.after.id,
            search.limit,
            search.filter.name,
            search.owner,
            search.words?.text,
            search.words?.json,
            search.words?.id,
            search.filter.tag
        ) { DueJob(date: try $0.get(0), id: try $0.get(1)) }
        return DueJobs(jobs: jobs)
    }
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
    /// Each takes the same values, up to ?8, and says of each row whether it matches, and how much
    /// was searched.
    static func waiting(_ part: Queries.DuePart, hasOwner: Bool, isFiltered: Bool) -> String {
        let isBehind =
            switch part {
            case .onDate: "jobs.due_us = ?2 AND jobs.id > ?3"
            case .behind: "jobs.due_us > ?2 AND \(any("?3"))"
            }
        let isMatch = isFiltered ? isMatch(tag: "?5", search: "?6", "?7", "?8") : any("?8")
        return """
            SELECT jobs.due_us, jobs.id, \(isMatch), \(isFiltered ? size(tag: "?5", search: "?6") : "0")
            FROM jobs INDEXED BY \(hasOwner ? "jobs_waiting_by_owner" : "jobs_waiting")
            \(isFiltered ? "CROSS JOIN job_definitions ON job_definitions.job_id = jobs.id" : "")
            WHERE \(hasOwner ? "jobs.owner_id = ?4" : "?4 IS NULL") AND jobs.clock = ?1 AND \(isBehind)
                AND jobs.state = 'scheduled' AND jobs.claim_id IS NULL AND jobs.held IS NULL
            ORDER BY jobs.due_us, jobs.id
            """
    }

    /// Uses fires_open_by_owner for an owner that is not root, else fires_open.
    static func claimed(hasIndexOfOwner: Bool) -> String {
        let isOwn =
            hasIndexOfOwner
            ? "fires.owner_id = ?1 AND fires.owner_id <> 0" : "(fires.owner_id = ?1 OR ?1 IS NULL)"
        return """
            SELECT jobs.due_us, jobs.id, jobs.clock
            FROM fires INDEXED BY \(hasIndexOfOwner ? "fires_open_by_owner" : "fires_open")
            CROSS JOIN jobs ON jobs.id = fires.job_id AND jobs.claim_id = fires.id
            WHERE \(RunRow.isOpen) AND \(isOwn)
                AND jobs.state = 'scheduled' AND jobs.due_us IS NOT NULL AND jobs.held IS NULL
            """
    }

    /// Whether one job matches, and how much was searched.
    static let claimedMatch = """
        SELECT \(isMatch(tag: "?2", search: "?3", "?4", "?5")), \(size(tag: "?2", search: "?3"))
        FROM jobs JOIN job_definitions ON job_definitions.job_id = jobs.id WHERE jobs.id = ?1
        """

    /// The bytes of what a search reads of a job; 0 where there is none.
    private static func size(tag: String, search: String) -> String {
        """
        iif(\(search) IS NULL OR \(tag) IS NOT NULL AND NOT \(hasTag(tag)), 0,
            length(CAST(job_definitions.definition AS BLOB)))
        """
    }

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

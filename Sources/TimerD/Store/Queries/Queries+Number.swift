// SPDX-License-Identifier: Apache-2.0

import SQLite
import TimerControl

/// A page of jobs.
struct JobPage {
    var jobs: [StoredJob]
    /// Where the next page goes on; nil for the last one.
    var cursor: JobCursor?
}

/// How a list by growing number comes to its jobs: by which index, and so past which others.
enum JobWalk: Hashable, Sendable, CaseIterable {
    case all
    /// jobs_by_owner.
    case ofOwner
    /// The live jobs without a next fire: jobs_idle.
    case idle
    /// One owner's live jobs without a next fire: jobs_idle_by_owner.
    case idleOfOwner
    /// jobs_held; the owner and the tag of each are looked up.
    case held
    /// job_names, once for each owner: it has the live job of a name.
    case named
    case namedOfOwner
    /// job_tags, once for each owner.
    case tagged
    /// job_tags, in its order.
    case taggedOfOwner

    /// `isIdle`: only jobs without a next fire are wanted; `isOnMany`: many jobs have the tag that is.
    init(_ filter: ListJobs, owner: OwnerID?, isIdle: Bool, isOnMany: Bool) {
        let wantsEnded = filter.state.map { !$0.isLive } ?? (filter.all == true)
        let isIdle = (isIdle || filter.state == .paused) && !wantsEnded
        if filter.held == true {
            self = .held
        } else if filter.name != nil, !wantsEnded {
            self = owner == nil ? .named : .namedOfOwner
        } else if filter.tag != nil, !isOnMany || !isIdle {
            self = owner == nil ? .tagged : .taggedOfOwner
        } else if isIdle {
            self = owner == nil ? .idle : .idleOfOwner
        } else {
            self = owner == nil ? .all : .ofOwner
        }
    }

    /// Whether it leads to few jobs, whatever there is.
    var isShort: Bool {
        switch self {
        case .held, .named, .namedOfOwner: true
        case .all, .ofOwner, .idle, .idleOfOwner, .tagged, .taggedOfOwner: false
        }
    }
}

/// The list of jobs by growing number.
extension Queries {
    /// Jobs by growing id, after `filter.cursor`; those of `owner` alone unless it is nil.
    ///
    /// `isIdle`: only those that have no next fire, as the end of the list by next fires.
    func jobsByNumber(
        _ filter: ListJobs,
        owner: OwnerID?,
        limit: Int,
        isIdle: Bool = false,
        hasUserInfo: Bool = true,
        in room: PageRoom = PageRoom()
    ) throws -> JobPage {
        let isOnMany = try filter.tag.map { try self.isOnMany($0, owner: owner) } ?? false
        let walk = JobWalk(filter, owner: owner, isIdle: isIdle, isOnMany: isOnMany)
        let after = filter.cursor?.listedThrough ?? JobID(rawValue: 0)
        let isShort = walk.isShort || (filter.tag != nil && !isOnMany)
        // The last job that is looked at; nil where each that is looked at is listed, or few are.
        let search = filter.search.map(JobSearch.init)
        let end: JobID? =
            if search != nil, filter.name == nil {
                try endOfSearch(walk, after: after, owner: owner, tag: filter.tag)
            } else if isShort || (filter.leavesNoneOut && !isIdle) {
                nil
            } else {
                try database.prepare(SQL.jobAfterSome(walk))
                    .value(after, mostLookedAt - 1, owner, filter.tag)
            }
        let select = try database.prepare(SQL.jobs(walk, hasUserInfo: hasUserInfo))
        var jobs = try select.page(
            after,
            filter.state,
            filter.all == true || filter.state != nil,
            filter.name,
            owner,
            limit + 1,
            isIdle,
            search?.text,
            search?.json,
            search?.id,
            end ?? JobID(rawValue: .max),
            filter.tag
        ) { row -> StoredJob? in
            guard room.takes(job: row, hasLast: filter.last == true) else { return nil }
            return try JobRow.job(from: row)
        }
        let isCut = jobs.count > limit || room.isFull
        if jobs.count > limit { jobs.removeLast(jobs.count - limit) }
        let through = isCut ? jobs.last?.id ?? after : end
        return JobPage(jobs: jobs, cursor: through.map { isIdle ? .idle($0) : .id($0) })
    }

    /// A page of the jobs with these ids, by growing id, without those that are gone; only `owner`'s unless it is nil.
    func jobs(
        _ ids: [JobID],
        after cursor: JobCursor?,
        owner: OwnerID?,
        limit: Int
    ) throws -> JobPage {
        let after = cursor?.listedThrough ?? JobID(rawValue: 0)
        let (store, room) = (JobStore(database), PageRoom())
        var jobs: [StoredJob] = []
        for id in Set(ids).sorted() where id > after {
            let found = if let owner { try store.job(id, of: owner) } else { try store.job(id) }
            guard let job = found else { continue }
            // The first always has room.
            guard jobs.count < limit, room.takes(job: job) else {
                return JobPage(jobs: jobs, cursor: jobs.last.map { .id($0.id) })
            }
            jobs.append(job)
        }
        return JobPage(jobs: jobs, cursor: nil)
    }

    /// The last job that a search looks at in one page; nil where it comes to the end of the list.
    private func endOfSearch(_ walk: JobWalk, after: JobID, owner: OwnerID?, tag: String?) throws
        -> JobID?
    {
        var (lookedAt, bytes) = (0, 0)
        var end: JobID?
        let none: Int64? = nil
        _ = try database.prepare(SQL.jobSizes(walk)).page(after, none, owner, tag) { row -> Void? in
            guard lookedAt < mostLookedAt, bytes < mostSearched else { return nil }
            lookedAt += 1
            bytes += try row.get(1, as: Int.self)
            end = try row.get(0)
            return ()
        }
        return lookedAt < mostLookedAt && bytes < mostSearched ? nil : end
    }

    /// Whether a tag is on more jobs than a page looks at.
    func isOnMany(_ tag: String, owner: OwnerID?) throws -> Bool {
        try database.prepare(owner == nil ? SQL.someTagged : SQL.someTaggedOfOwner)
            .value(tag, owner, mostLookedAt, as: Int.self) != nil
    }
}

extension ListJobs {
    /// Whether every job is wanted.
    fileprivate var leavesNoneOut: Bool {
        all == true && state == nil && search == nil && tag == nil && name == nil
    }
}

extension JobCursor {
    /// Nil in the order of next fires, while it is among those that have one.
    fileprivate var listedThrough: JobID? {
        switch self {
        case .id(let id), .idle(let id): id
        case .fire: nil
        }
    }
}

extension Queries.SQL {
    /// Each walk takes the same values, up to ?12.
    static func jobs(_ walk: JobWalk, hasUserInfo: Bool) -> String {
        let (table, id, isOnWay) = way(walk, owner: "?5", name: "?4", tag: "?12")
        let jobs =
            table.hasPrefix("jobs") ? table : "\(table) CROSS JOIN jobs ON jobs.id = \(id)"
        return """
            SELECT \(hasUserInfo ? JobRow.columns : JobRow.columnsWithoutUserInfo)
            FROM \(JobRow.source.replacing("jobs JOIN", with: "\(jobs) JOIN"))
            WHERE \(id) > ?1 AND \(id) <= ?11 AND \(isOnWay)
                AND (jobs.state = ?2 OR ?2 IS NULL)
                AND (?3 = 1 OR jobs.state NOT IN ('finished', 'invalidated'))
                AND (job_definitions.name = ?4 OR ?4 IS NULL)
                AND (jobs.owner_id = ?5 OR ?5 IS NULL)
                AND (?12 IS NULL OR \(hasTag("?12")))
                AND \(JobSearch.condition(text: "?8", json: "?9", id: "?10"))
                AND (?7 = 0 OR jobs.state <> 'scheduled' OR jobs.due_us IS NULL
                    OR jobs.held IS NOT NULL)
            ORDER BY \(id) LIMIT ?6
            """
    }

    /// The way of those that are looked at: for `tagged` that of all jobs, of which it looks at those with the tag.
    private static func wayLookedAt(_ walk: JobWalk) -> (table: String, id: String, isOnWay: String)
    {
        way(walk == .tagged ? .all : walk, owner: "?3", name: "NULL", tag: "?4")
    }

    /// The number of the job that comes so many behind another on the same way.
    static func jobAfterSome(_ walk: JobWalk) -> String {
        let (table, id, isOnWay) = wayLookedAt(walk)
        return """
            SELECT \(id) FROM \(table)
            WHERE \(id) > ?1 AND \(isOnWay) AND \(any("?4"))
            ORDER BY \(id) LIMIT 1 OFFSET ?2
            """
    }

    /// The jobs on the way of `walk`, each with the bytes of what a search reads of it.
    static func jobSizes(_ walk: JobWalk) -> String {
        let (table, id, isOnWay) = wayLookedAt(walk)
        return """
            SELECT \(id), length(CAST(job_definitions.definition AS BLOB))
            FROM \(table) CROSS JOIN job_definitions ON job_definitions.job_id = \(id)
            WHERE \(id) > ?1 AND \(isOnWay) AND \(any("?4"))
            ORDER BY \(id)
            """
    }

    /// The table that a walk leads through, the number that it is in the order of, and what is on its way.
    private static func way(_ walk: JobWalk, owner: String, name: String, tag: String)
        -> (table: String, id: String, isOnWay: String)
    {
        let isOwn = "jobs.owner_id = \(owner)"
        return switch walk {
        case .all: ("jobs", "jobs.id", "TRUE")
        case .ofOwner: ("jobs INDEXED BY jobs_by_owner", "jobs.id", isOwn)
        case .idle: ("jobs INDEXED BY jobs_idle", "jobs.id", isIdle)
        case .idleOfOwner:
            ("jobs INDEXED BY jobs_idle_by_owner", "jobs.id", "\(isOwn) AND \(isIdle)")
        case .held: ("jobs INDEXED BY jobs_held", "jobs.id", "jobs.held IS NOT NULL")
        case .named: ("jobs", "jobs.id", "jobs.id IN (\(named(name)))")
        case .namedOfOwner: ("jobs", "jobs.id", "jobs.id IN (\(named(name, of: owner)))")
        case .tagged:
            (
                "jobs", "jobs.id",
                "jobs.id IN (\(tagged(tag)) AND job_tags.job_id > ?1 AND job_tags.job_id <= ?11)"
            )
        case .taggedOfOwner: ("job_tags", "job_tags.job_id", ownTags(owner, tag))
        }
    }

    /// Whether a tag is on more jobs than ?3.
    static let someTagged = "\(tagged("?1")) AND ?2 IS NULL LIMIT 1 OFFSET ?3"
    static let someTaggedOfOwner = """
        SELECT job_id FROM job_tags WHERE \(ownTags("?2", "?1")) LIMIT 1 OFFSET ?3
        """

    /// The words of jobs_idle, in which a live job stands that has no next fire.
    private static let isIdle = """
        ((jobs.state <> 'scheduled' AND jobs.state <> 'finished' AND jobs.state <> 'invalidated')
            OR (jobs.state = 'scheduled' AND (jobs.due_us IS NULL OR jobs.held IS NOT NULL)))
        """

    /// True, so that a statement takes a value that it has no use for.
    static func any(_ value: String) -> String { "(\(value) IS NULL OR TRUE)" }

    /// The jobs of all users that have a tag.
    static func tagged(_ tag: String) -> String {
        """
        SELECT job_tags.job_id FROM owners AS tagging CROSS JOIN job_tags
        ON job_tags.owner_id = tagging.id AND job_tags.tag = \(tag)
        """
    }

    /// The newest jobs of all users that have a name.
    static func named(_ name: String) -> String {
        """
        SELECT job_names.job_id FROM owners AS naming CROSS JOIN job_names
        ON job_names.owner_id = naming.id AND job_names.name = \(name)
        """
    }

    /// The newest job of one user that has a name.
    static func named(_ name: String, of owner: String) -> String {
        "SELECT job_id FROM job_names WHERE owner_id = \(owner) AND name = \(name)"
    }

    /// The rows of job_tags that are one owner's.
    static func ownTags(_ owner: String, _ tag: String) -> String {
        "job_tags.owner_id = \(owner) AND job_tags.tag = \(tag)"
    }

    /// Whether the job of the row has a tag.
    static func hasTag(_ tag: String) -> String {
        "EXISTS (SELECT 1 FROM job_tags WHERE \(ownTags("jobs.owner_id", tag)) AND job_tags.job_id = jobs.id)"
    }
}

// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// The list of what became of fires, the newest first.
extension Queries {
    /// Reads a page: what comes after `cursor`, where the page before ended.
    ///
    /// A fire's attempts follow each other, the last first; fires of one date by falling number. Of a job, by the dates
    /// on its clock; of an owner and of all, by the dates in wall time, a range by its last; what has failed, by the date
    /// of its end.
    func runs(
        _ filter: RunFilter,
        after cursor: RunCursor?,
        limit: Int,
        in room: PageRoom = PageRoom()
    ) throws -> RunPage {
        let page = RunPage(filter, limit: limit, of: self, in: room)
        let order = RunOrder(filter)
        let subject = filter.fire?.rawValue ?? filter.job?.rawValue
        // Apart, so that many fires on one date are not read again for each page.
        if let cursor {
            _ = try database.prepare(SQL.runs(order, .onDate)).page(
                cursor.date,
                cursor.fire,
                cursor.run,
                RunPage.mostLookedAt + 1,
                filter.owner,
                subject,
                filter.since ?? .distantPast
            ) { try page.take($0) }
        }
        guard !page.hasMore else { return page }
        let rest = try database.prepare(SQL.runs(order, .before))
        func read(before end: some SQLBindable) throws {
            let none: Int64? = nil
            _ = try rest.page(
                end,
                none,
                none,
                RunPage.mostLookedAt + 1 - page.lookedAt,
                filter.owner,
                subject,
                filter.since ?? .distantPast
            ) { try page.take($0) }
        }
        if let cursor {
            try read(before: cursor.date)
        } else {
            // SQLite sorts bytes behind every date, and behind what stands where a date cannot be read.
            try read(before: [UInt8.max])
        }
        return page
    }

    /// Whose fire it is; nil where that cannot be read.
    func owner(of fire: FireID) throws -> String? {
        try database.prepare(SQL.ownerOfFire).first(fire) { $0.ifReadable(0) as String? }
            .flatMap(\.self)
    }

    /// Whether a job has a tag.
    func isTagged(_ job: JobID, _ tag: String) throws -> Bool {
        try database.prepare(SQL.isTagged).value(job, tag) ?? false
    }
}

/// Whose fires a list has, and by which index it finds them.
enum RunOrder: Hashable, Sendable, CaseIterable {
    /// The row of the fire by its number, and its runs by runs_by_fire.
    case fire
    /// The index of UNIQUE (job_id, fire_date_us).
    case job
    /// The same: any number of fires of other jobs may be open.
    case openOfJob
    /// fires_by_owner.
    case owner
    /// fires_open.
    case open
    /// fires_open_by_owner.
    case openOfOwner
    /// fires_by_date.
    case all
    /// runs_by_job, and sorted: a job's runs are few.
    case failedOfJob
    /// runs_failed_by_owner.
    case failedOfOwner
    /// runs_failed.
    case failed

    fileprivate init(_ filter: RunFilter) {
        guard filter.fire == nil else {
            self = .fire
            return
        }
        switch (filter.isOpen, filter.isFailed, filter.job, filter.owner) {
        case (true, _, _?, _): self = .openOfJob
        case (true, _, nil, nil), (true, _, nil, .root?): self = .open
        case (true, _, nil, _?): self = .openOfOwner
        case (false, false, _?, _): self = .job
        // Of root's fires there is no index of their own.
        case (false, false, nil, .root?): self = .all
        case (false, false, nil, _?): self = .owner
        case (false, false, nil, nil): self = .all
        case (false, true, _?, _): self = .failedOfJob
        case (false, true, nil, _?): self = .failedOfOwner
        case (false, true, nil, nil): self = .failed
        }
    }

    fileprivate var isOfFailures: Bool {
        switch self {
        case .failedOfJob, .failedOfOwner, .failed: true
        case .fire, .job, .owner, .openOfJob, .open, .openOfOwner, .all: false
        }
    }

    /// Where a page goes on: with the rest of the date on which the one before ended, then before it.
    enum Part: Hashable, Sendable, CaseIterable {
        case onDate
        case before
    }
}

extension Queries.SQL {
    /// When the last date of a fire's row is due: of a range, its end.
    static let lastDate = "coalesce(fires.last_date_us, fires.wall_date_us)"

    static func runs(_ order: RunOrder, _ part: RunOrder.Part) -> String {
        order.isOfFailures ? failedRuns(order, part) : fires(order, part)
    }

    /// What was dropped is told as over, also where that is still to be stored.
    private static let isStillOpen = "\(RunRow.isOpen) AND NOT \(RunRow.isDropped)"

    private static func fires(_ order: RunOrder, _ part: RunOrder.Part) -> String {
        let date =
            switch order {
            case .job, .openOfJob: "fires.fire_date_us"
            // No range is open.
            case .open, .openOfOwner: "fires.wall_date_us"
            default: lastDate
            }
        let isBehind =
            switch part {
            case .onDate:
                "\(date) = ?1 AND fires.id <= ?2 AND (fires.id < ?2 OR runs.id < ?3)"
            case .before: "\(date) < ?1"
            }
        // Each takes the same values, up to ?7; ?6 is the number of the job, or of the one fire.
        let isListed =
            switch order {
            case .fire: "fires.id = ?6 AND (fires.owner_id = ?5 OR ?5 IS NULL)"
            case .owner: "fires.owner_id = ?5 AND fires.owner_id <> 0 AND ?6 IS NULL"
            case .openOfJob:
                "\(isStillOpen) AND fires.job_id = ?6 AND (fires.owner_id = ?5 OR ?5 IS NULL)"
            // Whose they are `RunPage` looks at, as of `all`.
            case .open: "\(isStillOpen) AND ?6 IS NULL"
            case .openOfOwner:
                "\(isStillOpen) AND fires.owner_id = ?5 AND fires.owner_id <> 0 AND ?6 IS NULL"
            case .all: "?6 IS NULL"
            default: "fires.job_id = ?6 AND (fires.owner_id = ?5 OR ?5 IS NULL)"
            }
        // An index is searched by it where it has that date, and no date is given already.
        let isSince =
            order == .job || order == .openOfJob || order == .fire || part == .onDate
            ? "+\(lastDate) >= ?7" : "\(date) >= ?7"
        // Who knows the number of a fire may know that it is ahead.
        let isShown =
            order == .fire
            ? "fires.state <> 'forgotten'" : "fires.state NOT IN ('claimed', 'forgotten')"
        // Of one expression's value SQLite does not see that it puts nothing in order.
        let byDate = part == .onDate ? "" : "\(date) DESC, "
        return """
            SELECT \(RunRow.columns), \(date), fires.owner_id FROM \(RunRow.source)
            WHERE \(isBehind) AND \(isListed) AND \(isSince) AND \(isShown)
            ORDER BY \(byDate)fires.id DESC, runs.id DESC LIMIT ?4
            """
    }

    private static func failedRuns(_ order: RunOrder, _ part: RunOrder.Part) -> String {
        let date = "runs.ended_at_us"
        let isBehind =
            switch part {
            case .onDate: "\(date) = ?1 AND runs.id < ?3"
            case .before: "\(date) < ?1"
            }
        let (index, isListed) =
            switch order {
            case .failedOfOwner: ("INDEXED BY runs_failed_by_owner", "runs.failed_owner_id = ?5")
            case .failed: ("INDEXED BY runs_failed", "?5 IS NULL")
            default:
                (
                    "INDEXED BY runs_by_job",
                    "runs.job_id = ?6 AND (runs.failed_owner_id = ?5 OR ?5 IS NULL)"
                )
            }
        return """
            SELECT \(RunRow.columns), \(date), fires.owner_id
            FROM runs \(index) CROSS JOIN fires ON fires.id = runs.fire_id
            WHERE \(isBehind) AND \(isListed) AND (runs.job_id = ?6 OR ?6 IS NULL)
                AND \(part == .onDate ? "+" : "")\(date) >= ?7 AND runs.failed_owner_id IS NOT NULL
            ORDER BY \(date) DESC, runs.id DESC LIMIT ?4
            """
    }

    static let ownerOfFire = """
        SELECT owners.name FROM fires CROSS JOIN owners ON owners.id = fires.owner_id
        WHERE fires.id = ?1
        """
    static let isTagged = """
        SELECT EXISTS (
            SELECT 1 FROM jobs CROSS JOIN job_tags ON job_tags.owner_id = jobs.owner_id
                AND job_tags.tag = ?2 AND job_tags.job_id = jobs.id
            WHERE jobs.id = ?1)
        """
}

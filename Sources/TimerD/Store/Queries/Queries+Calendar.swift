// SPDX-License-Identifier: Apache-2.0

import JobModel
import SQLite
import Schedules
import TimerControl

/// A part of what is counted for a calendar, and from where the next part goes on.
struct CalendarPart<Found: Sendable, Cursor: Sendable>: Sendable {
    var found: Found
    /// Nil for the last part.
    var cursor: Cursor?
}

/// Jobs whose dates to come are counted.
struct JobsToCount: Sendable {
    var found: [StoredJob]
    /// Which of their dates, from the next one on, have a row already, of each job that has some: they do not fire.
    var taken: [JobID: [TakenDates]]
    /// Nil for the last part.
    var cursor: JobID?
}

/// What a calendar is counted from.
extension Queries {
    /// The most jobs and fires that are looked at for one page: others wait while it is read.
    static let mostCountedJobs = 1000
    static let mostCountedFires = 10_000
    /// Beyond so many rows ahead of one job its dates count.
    static let mostTaken = 64

    /// Live jobs by growing id, without their userInfo.
    func jobsToCount(
        tag: String?,
        owner: OwnerID?,
        after cursor: JobID?,
        limit: Int = mostCountedJobs
    ) throws -> JobsToCount {
        var filter = ListJobs()
        (filter.tag, filter.cursor) = (tag, cursor.map { .id($0) })
        let page = try jobsByNumber(
            filter,
            owner: owner,
            limit: limit,
            hasUserInfo: false,
            in: PageRoom(1 << 20)
        )
        var part = JobsToCount(found: page.jobs, taken: try datesTaken(of: page.jobs))
        if case .id(let id)? = page.cursor { part.cursor = id }
        return part
    }

    private func datesTaken(of jobs: [StoredJob]) throws -> [JobID: [TakenDates]] {
        let fires = FireStore(database)
        var taken: [JobID: [TakenDates]] = [:]
        for job in jobs where job.state == .scheduled && !job.isHeld && !job.isOneShot {
            guard let date = job.fireDate else { continue }
            do {
                let dates = try fires.taken(ahead: date, of: job.id, atMost: Self.mostTaken)
                if !dates.isEmpty { taken[job.id] = dates }
            } catch let error as DatabaseError where error.isUnreadableValue {
                // The job is held once it comes to that date.
                continue
            }
        }
        return taken
    }

    /// What became of what was due, from behind `cursor` on: first the fires, then the ranges of dates that never fired,
    /// spread over the time in which they lay.
    ///
    /// What has no date that can be read lies in no bucket; of what else cannot be read the rest counts.
    func countsOfFires(
        in buckets: CalendarBuckets,
        tag: String?,
        owner: OwnerID?,
        after cursor: CalendarCursor?,
        limit: Int = mostCountedFires
    ) throws -> CalendarPart<[DueCounts], CalendarCursor> {
        guard let from = buckets.bounds.first, let end = buckets.bounds.last else {
            return CalendarPart(found: [], cursor: nil)
        }
        var counts = Array(repeating: DueCounts(), count: buckets.count)
        var tagged: [JobID: Bool] = [:]
        func isWanted(_ job: JobID?) throws -> Bool {
            guard let tag else { return true }
            guard let job else { return false }
            if let known = tagged[job] { return known }
            let isTagged = try isTagged(job, tag)
            tagged[job] = isTagged
            return isTagged
        }
        var behind = RunCursor(date: from, fire: FireID(rawValue: 0), run: nil)
        var looked = 0
        if case .range(let last) = cursor {
            behind = last
        } else {
            if case .fire(let last) = cursor { behind = last }
            let select = SQL.firesToCount(hasIndexOfOwner: owner ?? .root != .root)
            try database.prepare(select).forEach(behind.date, behind.fire, end, owner, limit) {
                row in
                looked += 1
                behind = RunCursor(date: try row.get(8), fire: try row.get(1), run: nil)
                guard row.ifReadable(9) == true, let bucket = buckets.index(of: behind.date),
                    try isWanted(row.ifReadable(2))
                else { return }
                counts[bucket].add(RowOfFire(row), 1)
            }
            if looked == limit { return CalendarPart(found: counts, cursor: .fire(behind)) }
            behind = RunCursor(date: from, fire: FireID(rawValue: 0), run: nil)
        }
        let room = limit - looked
        looked = 0
        let ranges = try database.prepare(SQL.rangesOver(hasOwner: owner != nil))
        try ranges.forEach(behind.date, behind.fire, room, owner) { row in
            looked += 1
            let last: Timestamp = try row.get(6)
            behind = RunCursor(date: last, fire: try row.get(1), run: nil)
            guard row.ifReadable(8) == true else { return }
            let first: Timestamp = try row.get(0)
            guard first < end, try isWanted(row.ifReadable(2)) else { return }
            let dates = max(row.ifNumber(5) ?? 1, 1)
            for (bucket, number) in buckets.spread(dates, from: first, through: last) {
                counts[bucket].add(RowOfFire(row), number)
            }
        }
        return CalendarPart(found: counts, cursor: looked < room ? nil : .range(behind))
    }

    /// What a row of `SQL.fireColumns` says of how a fire stands.
    fileprivate struct RowOfFire {
        var state: FireState
        var reason: FireReason?
        var hasFailed: Bool
        var hasBegun: Bool

        init(_ row: borrowing Row) {
            // What a newer version calls its own is not over for all that this one knows.
            state = row.ifReadable(3) ?? .unreadable
            reason = row.ifReadable(4)
            let failed: Bool? = row.ifReadable(7)
            hasFailed = failed == true
            // What is told to have not begun has not failed either.
            hasBegun = failed != false
        }
    }
}

extension DueCounts {
    fileprivate mutating func add(_ fire: Queries.RowOfFire, _ number: Int) {
        switch fire.state {
        case .fired: succeeded += number
        case .done where fire.hasFailed: failed += number
        case .done where !fire.hasBegun: skipped += number
        case .done: succeeded += number
        case .dead: failed += number
        case .skipped where fire.reason?.isMissed == true: missed += number
        case .skipped: skipped += number
        case .claimed, .waiting, .running, .queued, .reserved, .unreadable: open += number
        }
    }
}

extension Queries.SQL {
    /// Whether the last attempt at the fire's own command failed is the last column; 0 where it was ended before it began.
    private static let fireColumns = """
        fires.wall_date_us, fires.id, fires.job_id, fires.state, fires.reason, fires.dates,
        fires.last_date_us, fires.failed
        """
    /// Whether a row is of a date that has come.
    private static let hasCome = "fires.state <> 'claimed' AND fires.state <> 'forgotten'"
    /// Uses fires_by_date, or fires_by_owner.
    ///
    /// The last column says whether the row counts: what does not is looked at as well, and may be any number. The date is
    /// compared twice, as SQLite searches no index of an expression by a comparison of rows.
    static func firesToCount(hasIndexOfOwner: Bool) -> String {
        """
        SELECT \(fireColumns), \(lastDate),
            fires.last_date_us IS NULL AND (fires.owner_id = ?4 OR ?4 IS NULL) AND \(hasCome)
        FROM fires
        WHERE \(lastDate) >= ?1 AND (\(lastDate), fires.id) > (?1, ?2) AND \(lastDate) < ?3
            AND typeof(\(lastDate)) = 'integer'
            \(hasIndexOfOwner ? "AND fires.owner_id = ?4 AND fires.owner_id <> 0" : "")
        ORDER BY \(lastDate), fires.id LIMIT ?5
        """
    }
    /// Uses fires_ranges_by_end, or fires_ranges_by_owner; the last column is as above.
    static func rangesOver(hasOwner: Bool) -> String {
        """
        SELECT \(fireColumns), typeof(fires.wall_date_us) = 'integer' AND \(hasCome) FROM fires
        WHERE (fires.last_date_us, fires.id) > (?1, ?2) AND fires.last_date_us IS NOT NULL
            AND \(hasOwner ? "fires.owner_id = ?4" : any("?4"))
            AND typeof(fires.last_date_us) = 'integer'
            AND fires.last_date_us <= \(Timestamp.distantFuture.microseconds)
        ORDER BY fires.last_date_us, fires.id LIMIT ?3
        """
    }
}

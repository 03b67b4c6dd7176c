// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import SQLite
@testable import TimerD

/// The dates of a job against the rows of `fires`: each date has one, and one alone.
///
/// A date here is one of the job's schedule, on the job's clock, after the job was added. It has
/// passed if that clock shows it or a later time at the end, when the clock is right; a clock that
/// was wrong for a while, and set right, adds no dates and takes none. For a job that has ended,
/// the end is its last fire (`count`), its `until`, or its only date. The rule:
///
/// - Each date that has passed is a fire that was carried out, or lies in a skipped row, which has a
///   reason; and never in two rows.
/// - A skipped row says how many dates it stands for, and begins and ends with one.
/// - A row stands for dates: no fire has one that is none of the schedule's, but for those that were
///   moved there or fired by hand.
/// - What lies ahead has a row only if it fired, or found a run in progress, while the clock showed
///   it, was dropped or moved by its user, or is claimed.
///
/// Before 2026 the daemon follows no clock that is set back, so years before it have but small steps back.
struct Ledger {
    struct Row {
        var id: FireID
        /// On the job's clock, as is `last`.
        var first: Timestamp
        var last: Timestamp
        var state: Run.State
        var reason: FireReason?
        var dates: Int
        /// Whether a fire of it was told, whatever became of that.
        var hasFired: Bool

        /// Whether it waited as its job was ended.
        var isDropped: Bool { state == .skipped && reason == .invalidated && dates == 1 }

        /// Whether it is of no date of the schedule, but of a user's.
        var isByHand: Bool { reason == .manual || reason == .withdrawn }

        static let query = """
            SELECT id, fire_date_us, wall_date_us, last_date_us, state, reason, dates,
                fired_at_us IS NOT NULL
            FROM fires WHERE job_id = ?1 AND state <> 'forgotten' ORDER BY fire_date_us
            """

        static func all(of job: JobID, in database: Database) throws -> [Row] {
            try database.prepare(query).all(job) { row in
                let first: Timestamp = try row.get(1)
                let wallFirst: Timestamp = try row.get(2)
                let wallLast: Timestamp? = try row.get(3)
                return Row(
                    id: try row.get(0),
                    first: first,
                    last: wallLast.map { first + ($0 - wallFirst) } ?? first,
                    state: try row.get(4),
                    reason: try row.get(5),
                    dates: try row.get(6),
                    hasFired: try row.get(7)
                )
            }
        }
    }

    /// The dates that had a row which is not kept any more.
    static func forgottenRanges(of job: JobID, in database: Database) throws
        -> [ClosedRange<Timestamp>]
    {
        let query = """
            SELECT fire_date_us, fire_date_us + coalesce(last_date_us - wall_date_us, 0)
            FROM fires WHERE job_id = ?1 AND state = 'forgotten'
            """
        return try database.prepare(query).all(job) { try $0.get(0)...$0.get(1) }
    }

    let job: YearJob
    let stored: StoredJob
    let rows: [Row]
    let now: Timestamp
    private let wallOffset: TimeSpan
    /// How far the wall clock was ahead at most, and may have been when the job ended: of the true
    /// time, or of the elapsed clock beyond what it is now.
    private let ahead: TimeSpan
    /// Dates of which nothing is kept.
    private let forgotten: [ClosedRange<Timestamp>]
    private(set) var problems: [String] = []
    private(set) var dateCount = 0

    init(
        _ job: YearJob,
        _ stored: StoredJob,
        _ rows: [Row],
        at moment: ClockReading,
        ahead: TimeSpan = .zero,
        forgotten: [ClosedRange<Timestamp>] = []
    ) {
        self.job = job
        self.stored = stored
        self.rows = rows
        now = moment.reading(of: job.clock)
        wallOffset = moment.wallOffset
        self.ahead = ahead
        self.forgotten = forgotten
        check()
    }

    private mutating func fail(_ row: Row, _ what: String) {
        problems.append(
            "job \(job.id) (\(job.words)): row \(row.id) \(row.state) \(row.reason?.rawValue ?? "")"
                + " \(row.first.rfc3339)..\(row.last.rfc3339) x\(row.dates): \(what)"
        )
    }

    private mutating func check() {
        let first = min(rows.first?.first ?? job.start, job.start)
        let last = max(rows.map(\.last).max() ?? now, now)
        let dates = job.dates(from: first, through: last)
        var taken = [Int](repeating: 0, count: dates.count)
        for row in rows {
            let start = dates.partitioningIndex { $0 >= row.first }
            let end = dates.partitioningIndex { $0 > row.last }
            // A row by hand is a fire at its moment, whatever the schedule says.
            if row.isByHand, start == end { continue }
            let own = (start..<end).filter { job.isDate(dates[$0], ofRowFrom: row.first) }
            for index in own { taken[index] += 1 }
            let isMoved = job.moved.contains(row.first)
            let hasFirst = start < end && dates[start] == row.first
            if !hasFirst, !isMoved { fail(row, "is no date of the schedule") }
            if row.first != row.last, dates[max(end - 1, 0)] != row.last {
                fail(row, "does not end with a date")
            }
            if row.dates != own.count + (hasFirst ? 0 : 1) {
                fail(row, "stands for \(own.count) dates")
            }
            checkState(of: row)
        }
        let bound = bound()
        dateCount = dates.count { $0 > job.start && $0 <= bound }
        for (date, count) in zip(dates, taken) {
            if count > 1 { problems.append("\(name(date)) is in \(count) rows") }
            guard count == 0, date > job.start, date <= bound, !isToCome(date),
                !forgotten.contains(where: { $0.contains(date) })
            else { continue }
            problems.append("\(name(date)) has neither a fire nor a reason")
        }
    }

    private func name(_ date: Timestamp) -> String {
        "job \(job.id) (\(job.words), \(stored.state) \(stored.endReason?.rawValue ?? "")): "
            + "the date \(date.rfc3339)"
    }

    private mutating func checkState(of row: Row) {
        switch row.state {
        case .claimed:
            // Behind the next date of an event there may be more.
            let isAhead =
                stored.claim != nil && stored.definition.command == nil
                && stored.fireDate.map { row.first > $0 } ?? false
            if row.id != stored.claim?.fire, !isAhead { fail(row, "is claimed by nobody") }
        case .waiting: fail(row, "waits")
        case .running: fail(row, "runs")
        case .queued, .reserved: fail(row, "is a task")
        case .unreadable: fail(row, "cannot be read")
        case .fired, .done, .dead: break
        case .skipped:
            if row.reason == nil { fail(row, "has no reason") }
            // Its user did that to it, or it had come, while a run was in progress.
            let stays: [FireReason?] = [.skip, .moved, .overlap, .replaced, .lineFull]
            if row.last > now, stored.state.isLive, !stays.contains(row.reason) {
                fail(row, "lies ahead")
            }
        }
    }

    /// The last instant whose dates have passed.
    private func bound() -> Timestamp {
        switch stored.endReason {
        case nil: return now
        case .until: return min(job.until ?? now, now)
        case .invalidated, .replaced, .targetGone:
            let wallOffset = job.clock == .elapsed ? self.wallOffset + ahead : .zero
            let end = min(stored.endedAt.map { $0 - wallOffset } ?? now, now)
            // It may have finished before, and was ended while its last fire was not over: one that waited counts no more.
            let all = stored.fires + rows.count { $0.isDropped }
            let hasAllFires = stored.policy.count.map { all >= $0 } ?? false
            return min(end, hasAllFires ? lastFire : end, job.until ?? end)
        case .count: return lastFire
        // All that were left up to its end were dropped; of a schedule that ends by itself all there are.
        case .skipped: return job.until.map { min($0, now) } ?? .distantFuture
        default: return .distantFuture
        }
    }

    private var lastFire: Timestamp {
        // A task that was dropped, or that no worker took in time, had its fire before.
        rows.filter { $0.state != .skipped || $0.hasFired || $0.isDropped }
            .max { $0.id < $1.id }?.first ?? now
    }

    /// Whether a date that has no row is the next, and waits: for its jitter.
    private func isToCome(_ date: Timestamp) -> Bool {
        guard stored.state == .scheduled, let next = stored.fireDate else { return false }
        return date >= next && date + job.jitter > now
    }
}

extension RandomAccessCollection {
    /// Where `belongs` begins to hold, of elements in such an order that it holds from there on.
    fileprivate func partitioningIndex(where belongs: (Element) -> Bool) -> Index {
        var low = startIndex
        var count = count
        while count > 0 {
            let half = index(low, offsetBy: count / 2)
            if belongs(self[half]) {
                count /= 2
            } else {
                low = index(after: half)
                count -= count / 2 + 1
            }
        }
        return low
    }
}

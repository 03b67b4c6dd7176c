// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// How much one write may remove, so that no fire waits for it much longer than a millisecond.
struct Effort {
    private var rest = 100

    /// For a write that needs the room.
    static let unbounded: Effort = {
        var effort = Effort()
        effort.rest = .max
        return effort
    }()

    var isSpent: Bool { rest <= 0 }
    /// How many rows may still be removed, at least one.
    var rows: Int { max(rest, 1) }
    /// The same of runs, each of which may have 128 KiB of output on 32 pages.
    var runs: Int { max(rest / 10, 1) }

    mutating func spend(rows: Int64) { rest -= Int(rows) }
    mutating func spend(runs: Int64) { rest -= Int(runs) * 10 }
    /// Of a job, or what it costs to read one.
    mutating func spendJob() { rest -= 5 }
}

/// The oldest rows of a job's history make room for new ones.
///
/// A date whose row has gone is not to fire again where the clock is set back. So of the rows of a
/// wall job that repeats, those of dates that are not to come again become one, the range of these
/// dates, in state `forgotten`. Dates that were left out, and fire if the clock comes back to before
/// them, part two ranges.
extension JobWriter {
    /// By how many rows a history grows before it is cut again.
    static let cutInterval = 16
    /// How many ranges of forgotten dates a job may have; then dates that were left out between two
    /// of them do not come again.
    static let rangeLimit = 4

    /// Cuts the history of a job down to what is kept, once it has grown by some rows.
    func cutIfGrown(_ job: inout StoredJob) throws {
        guard let runsKept, job.uncut >= Self.cutInterval else { return }
        let oldest = try database.prepare(SQL.oldestKept)
            .value(job.id, runsKept - 1 + (job.ahead?.count ?? 0), as: Timestamp.self)
        var effort = Effort()
        guard try oldest.map({ try forget(job, before: $0, &effort) }) ?? true else { return }
        job.uncut = 0
    }

    /// Removes rows of dates before `end`, on the job's clock, the oldest dates first; what is not
    /// over stays.
    ///
    /// - Returns: whether that was all of them.
    func forget(_ job: StoredJob, before end: Timestamp, _ effort: inout Effort) throws -> Bool {
        let mayComeAgain = job.clock == .wall && job.state.isLive && !job.isOneShot
        let rows = try database.prepare(SQL.oldestRows).all(job.id, end) { row in
            OldRow(
                id: try row.get(0),
                dates: TakenDates(first: try row.get(1), last: try row.get(2)),
                kind: try row.get(3)
            )
        }
        var removed = 0
        var range: OldRow?
        var ranges = 0
        for row in rows {
            guard !effort.isSpent else {
                try store(range)
                return false
            }
            switch row.kind {
            case .open:
                // A range must not lie across a row: who looks for a date finds that one first.
                try store(range)
                range = nil
                continue
            case .forgotten where mayComeAgain:
                try store(range)
                range = row
                ranges += 1
                continue
            case .leftOut where ranges < Self.rangeLimit:
                try store(range)
                range = nil
            case .taken where mayComeAgain:
                // What was left out in between may have been the last row of an earlier cut.
                if let before = range, before.kind == .forgotten, ranges < Self.rangeLimit,
                    before.dates.isOnGrid(row.dates.first, of: job),
                    let next = job.schedule.nextFireDate(after: before.dates.last),
                    next < row.dates.first
                {
                    try store(before)
                    range = nil
                }
                guard var grown = range, grown.dates.isOnGrid(row.dates.first, of: job) else {
                    // A range on a grid that the job has left says nothing of its dates.
                    if let range { try database.prepare(SQL.deleteFire).run(range.id) }
                    guard try removeRuns(of: row.id, &effort) else { return false }
                    try database.prepare(SQL.becomeRange).run(row.id)
                    range = row
                    ranges += 1
                    continue
                }
                grown.dates.last = max(grown.dates.last, row.dates.last)
                range = grown
            case .taken, .leftOut, .byHand, .forgotten: break
            }
            guard try removeRuns(of: row.id, &effort) else {
                try store(range)
                return false
            }
            try database.prepare(SQL.deleteFire).run(row.id)
            effort.spend(rows: 1)
            removed += 1
        }
        try store(range)
        // Where nothing can go, trying again helps nobody.
        return rows.count < Self.oldestRowsLimit || removed == 0
    }

    private func store(_ range: OldRow?) throws {
        guard let range else { return }
        try database.prepare(SQL.setRange).run(range.id, range.dates.last - range.dates.first)
    }

    /// Whether all of them are removed.
    private func removeRuns(of fire: FireID, _ effort: inout Effort) throws -> Bool {
        try database.prepare(SQL.deleteRunsOfFire).run(fire, effort.runs)
        effort.spend(runs: database.changes)
        return database.changes == 0 || !effort.isSpent
    }

    /// Removes a job that has ended, with its history.
    ///
    /// - Returns: whether all of it is removed.
    func remove(_ job: StoredJob, _ effort: inout Effort) throws -> Bool {
        try database.prepare(SQL.deleteRunsOfJob).run(job.id, effort.runs)
        effort.spend(runs: database.changes)
        guard !effort.isSpent else { return false }
        try database.prepare(SQL.deleteFiresOfJob).run(job.id, effort.rows)
        effort.spend(rows: database.changes)
        guard !effort.isSpent else { return false }
        if job.unread != nil { try database.prepare(SQL.deleteTags).run(job.ownerID, job.id) }
        for tag in job.definition.tags ?? [] {
            try database.prepare(SQL.deleteTag).run(job.ownerID, tag, job.id)
        }
        try database.prepare(SQL.deleteJob).run(job.id)
        effort.spendJob()
        return true
    }

    fileprivate static let oldestRowsLimit = 256
}

/// A row of a job's history that is to go.
private struct OldRow {
    enum Kind: String, SQLWord {
        /// Not over: it stays.
        case open
        /// The range of dates whose rows have gone.
        case forgotten
        /// A fire by hand, which takes no date of the schedule.
        case byHand
        /// Dates that fire if the clock comes back to before them.
        case leftOut
        /// Dates that had their fire, or were dropped by their user.
        case taken
    }

    var id: FireID
    /// On the job's clock.
    var dates: JobWriter.TakenDates
    var kind: Kind
}

extension JobWriter.SQL {
    static let oldestKept = """
        SELECT fire_date_us FROM fires WHERE job_id = ?1
        ORDER BY fire_date_us DESC LIMIT 1 OFFSET ?2
        """
    static let oldestRows = """
        SELECT id, fire_date_us, fire_date_us + coalesce(last_date_us - wall_date_us, 0),
            CASE WHEN \(RunRow.isOpen) THEN 'open'
                WHEN state = 'forgotten' THEN 'forgotten'
                WHEN reason = 'manual' OR reason = 'withdrawn' THEN 'byHand'
                WHEN state = 'skipped' AND reason <> 'skip' AND reason <> 'moved'
                    AND reason <> 'overlap' AND reason <> 'zoneChanged' THEN 'leftOut'
                ELSE 'taken' END
        FROM fires WHERE job_id = ?1 AND fire_date_us < ?2
        ORDER BY fire_date_us LIMIT \(JobWriter.oldestRowsLimit)
        """
    static let becomeRange = """
        UPDATE fires SET state = 'forgotten', reason = NULL, missed = 0, fired_at_us = NULL
        WHERE id = ?1
        """
    static let setRange = """
        UPDATE fires SET last_date_us = wall_date_us + ?2
        WHERE id = ?1 AND last_date_us IS NOT wall_date_us + ?2
        """
    static let deleteRunsOfFire = """
        DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE fire_id = ?1 LIMIT ?2)
        """
    static let deleteRunsOfJob = """
        DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE job_id = ?1 LIMIT ?2)
        """
    static let deleteFiresOfJob = """
        DELETE FROM fires WHERE id IN (SELECT id FROM fires WHERE job_id = ?1 LIMIT ?2)
        """
    static let deleteTag = """
        DELETE FROM job_tags WHERE owner_id = ?1 AND tag = ?2 AND job_id = ?3
        """
    /// Of a job that cannot be read, which does not say what they are.
    static let deleteTags = "DELETE FROM job_tags WHERE owner_id = ?1 AND job_id = ?2"
    static let deleteJob = "DELETE FROM jobs WHERE id = ?1"
}

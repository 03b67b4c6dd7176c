// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// How much one write may remove, so that no fire waits much longer than a millisecond for it.
struct WorkBudget {
    private var rest = 100

    /// No bound: for a write that cannot go on without the room.
    static let unbounded: WorkBudget = {
        var budget = WorkBudget()
        budget.rest = .max
        return budget
    }()

    var isSpent: Bool { rest <= 0 }
    /// How many rows may still be removed, at least one.
    var rows: Int { max(rest, 1) }
    /// How many runs may still be removed, at least one; each may have 128 KiB of output on 32 pages.
    var runs: Int { max(rest / 10, 1) }

    mutating func spend(rows: Int64) { rest -= Int(rows) }
    mutating func spend(runs: Int64) { rest -= Int(runs) * 10 }
    /// What it costs to remove a job's row, or to read one.
    mutating func spendJob() { rest -= 5 }
}

/// The oldest rows of a job's history make room for new ones.
///
/// A date whose row is removed must not fire again when the clock is set back. So the rows of a repeating wall
/// job become one row: the range of their dates, in state `forgotten`. A skipped date ends a range, because it
/// does fire if the clock is set back to before it.
extension JobTransaction {
    /// By how many rows a history grows before it is trimmed again.
    static let trimInterval = 16
    /// How many ranges of forgotten dates a job may have.
    ///
    /// Beyond that, skipped dates between two ranges join them, and do not fire if the clock is set
    /// back.
    static let rangeLimit = 4

    /// Trims the history of a job to what is kept, once it has grown by some rows.
    func trimIfGrown(_ job: inout StoredJob) throws {
        guard let runsKept, job.rowsSinceTrim >= Self.trimInterval else { return }
        let kept = runsKept.rows(of: job.policy)
        let oldest = try fires.date(of: job.id, behind: kept - 1 + (job.ahead?.count ?? 0))
        var budget = WorkBudget()
        guard try oldest.map({ try trim(job, before: $0, &budget) }) ?? true else { return }
        job.rowsSinceTrim = 0
    }

    /// Removes the rows of dates before `end`, on the job's clock, oldest first; open fires stay.
    ///
    /// - Returns: whether all of them were removed.
    func trim(_ job: StoredJob, before end: Timestamp, _ budget: inout WorkBudget) throws -> Bool {
        let mayComeAgain = job.clock == .wall && job.state.isLive && !job.isOneShot
        let rows = try fires.oldest(of: job.id, before: end)
        var removed = 0
        var range: OldFire?
        var ranges = 0
        for row in rows {
            guard !budget.isSpent else {
                try store(range)
                return false
            }
            switch row.kind {
            case .open:
                // A range must not cover a row: a search for that row's date would find the range first.
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
                // A skipped date in between may have been the last row of an earlier trim.
                if let before = range, before.kind == .forgotten, ranges < Self.rangeLimit,
                    before.dates.isOnGrid(row.dates.first, of: job),
                    let next = job.schedule.nextFireDate(after: before.dates.last),
                    next < row.dates.first
                {
                    try store(before)
                    range = nil
                }
                guard var grown = range, grown.dates.isOnGrid(row.dates.first, of: job) else {
                    // A range on a grid that the job has left covers none of its dates.
                    if let range { try fires.delete(range.id) }
                    guard try removeRuns(of: row.id, &budget) else { return false }
                    try fires.becomeRange(row.id)
                    range = row
                    ranges += 1
                    continue
                }
                grown.dates.last = max(grown.dates.last, row.dates.last)
                range = grown
            case .taken, .leftOut, .byHand, .forgotten: break
            }
            guard try removeRuns(of: row.id, &budget) else {
                try store(range)
                return false
            }
            try fires.delete(row.id)
            budget.spend(rows: 1)
            removed += 1
        }
        try store(range)
        // Nothing was removable: report done, so that nobody tries again.
        return rows.count < FireStore.oldestLimit || removed == 0
    }

    private func store(_ range: OldFire?) throws {
        if let range { try fires.setRange(range.id, range.dates) }
    }

    /// Returns whether all of them were removed.
    private func removeRuns(of fire: FireID, _ budget: inout WorkBudget) throws -> Bool {
        let removed = try runs.delete(of: fire, limit: budget.runs)
        budget.spend(runs: removed)
        return removed == 0 || !budget.isSpent
    }

    /// Removes a job that has ended, with its history.
    ///
    /// - Returns: whether all of it is removed.
    func remove(_ job: StoredJob, _ budget: inout WorkBudget) throws -> Bool {
        budget.spend(runs: try runs.delete(of: job.id, limit: budget.runs))
        guard !budget.isSpent else { return false }
        budget.spend(rows: try fires.delete(of: job.id, limit: budget.rows))
        guard !budget.isSpent else { return false }
        try jobs.deleteTags(of: job)
        try jobs.delete(job.id)
        budget.spendJob()
        return true
    }
}

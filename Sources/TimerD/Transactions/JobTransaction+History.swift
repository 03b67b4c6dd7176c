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
extension JobTransaction {
    /// By how many rows a history grows before it is cut again.
    static let cutInterval = 16
    /// How many ranges of forgotten dates a job may have; then dates that were left out between two
    /// of them do not come again.
    static let rangeLimit = 4

    /// Cuts the history of a job down to what is kept, once it has grown by some rows.
    func cutIfGrown(_ job: inout StoredJob) throws {
        guard let runsKept, job.uncut >= Self.cutInterval else { return }
        let oldest = try fires.date(of: job.id, behind: runsKept - 1 + (job.ahead?.count ?? 0))
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
        let rows = try fires.oldest(of: job.id, before: end)
        var removed = 0
        var range: OldFire?
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
                    if let range { try fires.delete(range.id) }
                    guard try removeRuns(of: row.id, &effort) else { return false }
                    try fires.becomeRange(row.id)
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
            try fires.delete(row.id)
            effort.spend(rows: 1)
            removed += 1
        }
        try store(range)
        // Where nothing can go, trying again helps nobody.
        return rows.count < FireStore.oldestLimit || removed == 0
    }

    private func store(_ range: OldFire?) throws {
        if let range { try fires.setRange(range.id, range.dates) }
    }

    /// Whether all of them are removed.
    private func removeRuns(of fire: FireID, _ effort: inout Effort) throws -> Bool {
        let removed = try runs.delete(of: fire, limit: effort.runs)
        effort.spend(runs: removed)
        return removed == 0 || !effort.isSpent
    }

    /// Removes a job that has ended, with its history.
    ///
    /// - Returns: whether all of it is removed.
    func remove(_ job: StoredJob, _ effort: inout Effort) throws -> Bool {
        effort.spend(runs: try runs.delete(of: job.id, limit: effort.runs))
        guard !effort.isSpent else { return false }
        effort.spend(rows: try fires.delete(of: job.id, limit: effort.rows))
        guard !effort.isSpent else { return false }
        try jobs.deleteTags(of: job)
        try jobs.delete(job.id)
        effort.spendJob()
        return true
    }
}

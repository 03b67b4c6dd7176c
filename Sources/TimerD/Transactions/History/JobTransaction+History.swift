// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

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
    ///
    /// Of a job with many open fires, which stay, one write looks at a few hundred; the next trim goes on behind them.
    func trimIfGrown(_ job: inout StoredJob) throws {
        guard let runsKept = terms.runsKept, job.rowsSinceTrim >= Self.trimInterval else { return }
        let kept = runsKept.rows(of: job.policy)
        let oldest = try fires.date(of: job.id, behind: kept - 1 + (job.ahead?.count ?? 0))
        var budget = WorkBudget()
        if let oldest {
            var place = terms.trimPlaces?[job.id] ?? TrimPlace()
            guard try trimPiece(of: job, before: oldest, sparingRuns: true, &place, &budget)
            else { return }
            terms.trimPlaces?.set(place, of: job.id)
        }
        job.rowsSinceTrim = 0
    }

    /// Removes the rows of dates before `end`, on the job's clock, oldest first; open fires stay.
    ///
    /// - Returns: whether nothing is left to remove.
    func trim(_ job: StoredJob, before end: Timestamp, _ budget: inout WorkBudget) throws -> Bool {
        var place = TrimPlace()
        repeat {
            guard try trimPiece(of: job, before: end, sparingRuns: false, &place, &budget)
            else { return false }
        } while !place.isStart
        return true
    }

    /// Removes what may go of the next rows behind `place`, of those that `trim` removes.
    ///
    /// `place` becomes where to go on: the start again once all rows were looked at.
    ///
    /// `sparingRuns`: rows whose run is kept stay, too. A long run may have more skipped dates behind it than the history
    /// keeps.
    /// - Returns: whether nothing of them is left to remove.
    private func trimPiece(
        of job: StoredJob,
        before end: Timestamp,
        sparingRuns: Bool,
        _ place: inout TrimPlace,
        _ budget: inout WorkBudget
    ) throws -> Bool {
        let rows = try fires.oldest(
            of: job.id,
            after: place.date,
            before: end,
            sparingRuns: sparingRuns
        )
        guard let removed = try remove(rows, of: job, &place.ranges, &budget) else { return false }
        guard rows.count == FireStore.oldestLimit, let last = rows.last else {
            place = TrimPlace()
            return true
        }
        guard removed == 0 else { return false }
        // None of these rows may go: the next piece begins behind them.
        place.date = last.dates.first
        return true
    }

    /// Removes of these rows what may go; returns how many, or nil if that was all that one write may remove.
    private func remove(
        _ rows: [OldFire],
        of job: StoredJob,
        _ ranges: inout TrimPlace.Ranges,
        _ budget: inout WorkBudget
    ) throws -> Int? {
        // Also the dates of a job that has ended: its end may be undone.
        let mayComeAgain = job.clock == .wall && !job.isOneShot
        var removed = 0
        for row in rows {
            guard !budget.isSpent else {
                try store(ranges.last)
                return nil
            }
            switch row.kind {
            case .stays:
                // A range must not cover a row: a search for that row's date would find the range first.
                try store(ranges.last)
                ranges.last = nil
                continue
            case .forgotten where mayComeAgain && !isJoined(row, to: ranges, of: job):
                try store(ranges.last)
                ranges.last = row
                ranges.count += 1
                continue
            case .forgotten where mayComeAgain: ranges.last?.dates.grow(to: row.dates.last)
            case .leftOut where ranges.count < Self.rangeLimit:
                try store(ranges.last)
                ranges.last = nil
            case .taken where mayComeAgain:
                // A skipped date in between may have been the last row of an earlier trim.
                if let before = ranges.last, before.kind == .forgotten,
                    before.dates.isOnGrid(row.dates.first, of: job),
                    !isJoined(row, to: ranges, of: job)
                {
                    try store(before)
                    ranges.last = nil
                }
                guard ranges.last?.dates.isOnGrid(row.dates.first, of: job) == true else {
                    // A range on a grid that the job has left covers none of its dates.
                    if let left = ranges.last { try fires.delete(left.id) }
                    guard try removeRuns(of: row.id, &budget) else { return nil }
                    try fires.becomeRange(row.id)
                    ranges.last = row
                    ranges.count += 1
                    continue
                }
                ranges.last?.dates.grow(to: row.dates.last)
            case .taken, .leftOut, .byHand, .forgotten: break
            }
            guard try removeRuns(of: row.id, &budget) else {
                try store(ranges.last)
                return nil
            }
            try fires.delete(row.id)
            budget.spend(rows: 1)
            removed += 1
        }
        try store(ranges.last)
        return removed
    }

    /// Whether a row's dates are to be part of the range before it: no date of the schedule lies between them that was
    /// skipped, or there are ranges enough.
    private func isJoined(_ row: OldFire, to ranges: TrimPlace.Ranges, of job: StoredJob) -> Bool {
        guard let before = ranges.last, before.dates.isOnGrid(row.dates.first, of: job) else {
            return false
        }
        guard ranges.count < Self.rangeLimit,
            let next = job.schedule.nextFireDate(after: before.dates.last)
        else { return true }
        return next >= row.dates.first
    }

    private func store(_ range: OldFire?) throws {
        if let range { try fires.setRange(range.id, range.dates) }
    }

    /// Returns whether all of them were removed.
    private func removeRuns(of fire: FireID, _ budget: inout WorkBudget) throws -> Bool {
        try removeRuns(&budget) { try runs.oldest(of: fire, limit: $0) }
    }

    /// Removes the runs that `next` finds, as many as it is asked for; returns whether none is left.
    ///
    /// What a run wrote goes first, part by part: it may be 32 MiB.
    private func removeRuns(_ budget: inout WorkBudget, _ next: (Int) throws -> [RunID]) throws
        -> Bool
    {
        while true {
            let limit = budget.rows
            let found = try next(limit)
            for run in found {
                guard !budget.isSpent else { return false }
                let parts = budget.parts
                let removed = try runs.deleteOutput(of: run, limit: parts)
                budget.spend(parts: removed)
                guard removed < parts else { return false }
                try runs.delete(run)
                budget.spend(rows: 1)
            }
            guard found.count == limit else { return true }
        }
    }

    /// Removes a job that has ended, with its history.
    ///
    /// - Returns: whether all of it is removed.
    func remove(_ job: StoredJob, _ budget: inout WorkBudget) throws -> Bool {
        let isRid = try removeRuns(&budget) { try runs.oldest(of: job.id, limit: $0) }
        guard isRid, !budget.isSpent else { return false }
        budget.spend(rows: try fires.delete(of: job.id, limit: budget.rows))
        guard !budget.isSpent else { return false }
        try jobs.deleteTags(of: job)
        budget.spend(rows: Int64(job.definition.tags?.count ?? 0))
        try jobs.delete(job.id)
        budget.spendJob()
        return true
    }

    /// Removes jobs that have ended before `date` of the wall clock, the first of them first, for as long as `isWanted`;
    /// those of which something is in progress stay.
    ///
    /// `owner`: whose; nil for all. `cursor`: behind which to look, and in the end behind which to go on. `whole`: jobs that
    /// are begun are removed whatever that takes, and the budget is for looking alone.
    /// - Returns: whether no more is wanted, or none is left; else the budget is spent.
    func removeEnded(
        of owner: OwnerID? = nil,
        before date: Timestamp = .distantFuture,
        from cursor: inout EndedCursor,
        _ budget: inout WorkBudget,
        whole: Bool = false,
        while isWanted: () throws -> Bool = { true }
    ) throws -> Bool {
        guard try isWanted() else { return true }
        while true {
            let limit = budget.rows
            let found = try jobs.ended(of: owner, after: cursor, before: date, limit: limit)
            for next in found {
                guard !budget.isSpent else { return false }
                // Of whole jobs each that goes is what the write is for.
                if !whole || next.isOpen { budget.spend(rows: 1) }
                if !next.isOpen, let job = try jobs.jobWithoutUserInfo(next.cursor.job, of: nil) {
                    var all = WorkBudget.unbounded
                    guard try whole ? remove(job, &all) : remove(job, &budget) else { return false }
                    cursor = next.cursor
                    guard try isWanted() else { return true }
                }
                cursor = next.cursor
            }
            guard found.count == limit else { return true }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// Which fires a list of runs has, and in which order.
struct RunFilter: Sendable {
    var job: JobID?
    /// Only the rows of this fire, whose job is not named then.
    var fire: FireID?
    /// Nil for all owners.
    var owner: OwnerID?
    /// Only those whose command runs, waits or is about to start.
    var isOpen = false
    /// Only runs that ended as failures; these are in the order of their ends.
    var isFailed = false
    /// Only what stands in the list at this date or later.
    var since: Timestamp?
    /// A word of `Run.Outcome`, or that of a skipped fire.
    var outcome: RunWord?
    var tag: String?
}

/// A page of a list of runs while it is read; for one thread.
///
/// What is looked at is bounded as well as what is found: others wait while a page is read.
final class RunPage {
    /// The most rows that are looked at for one page.
    static let mostLookedAt = 2000

    let filter: RunFilter
    private let limit: Int
    private let room: PageRoom
    private let queries: Queries
    private(set) var runs: [Run] = []
    /// Whether there may be more.
    private(set) var hasMore = false
    private(set) var lookedAt = 0
    /// Where the last row stands that was looked at.
    private var last: RunCursor?
    private var tagged: [JobID: Bool] = [:]

    /// From where the page behind this one goes on; nil for the last one.
    var cursor: RunCursor? { hasMore ? last : nil }

    init(_ filter: RunFilter, limit: Int, of queries: Queries, in room: PageRoom) {
        (self.filter, self.limit, self.queries, self.room) = (filter, limit, queries, room)
    }

    /// Looks at the next row of `RunRow.columns`; nil if the page is over without it.
    func take(_ row: borrowing Row) throws -> Void? {
        guard runs.count < limit, lookedAt < Self.mostLookedAt else {
            hasMore = true
            return nil
        }
        let found = RunRow.run(from: row)
        if try isOfOwner(row) && isWanted(found.run) {
            guard room.takes(run: row) else {
                hasMore = true
                return nil
            }
            runs.append(found.run)
        }
        lookedAt += 1
        last = found.cursor
        return ()
    }

    /// Of root's fires there is no index of their own: the statement finds those of others as well.
    private func isOfOwner(_ row: borrowing Row) -> Bool {
        filter.owner != .root || row.ifReadable(RunRow.ownerColumn) == OwnerID.root
    }

    private func isWanted(_ run: Run) throws -> Bool {
        if let outcome = filter.outcome, !outcome.isOf(run) { return false }
        guard let tag = filter.tag else { return true }
        if let known = tagged[run.job] { return known }
        let isTagged = try queries.isTagged(run.job, tag)
        tagged[run.job] = isTagged
        return isTagged
    }
}

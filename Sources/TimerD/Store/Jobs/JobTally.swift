// SPDX-License-Identifier: Apache-2.0

import SQLite
import TimerControl

/// How one write changes the numbers that are kept of live jobs and of what is stored.
struct JobTally: Sendable {
    /// Of one owner.
    struct Share: Sendable {
        var live = 0
        /// Of new jobs alone: triggers count all else.
        var bytes: Int64 = 0
        /// Of a row of the outbox: the bytes of its events' reasons, which triggers count once they are in the log.
        var reasons: Int64 = 0

        var isZero: Bool { live == 0 && bytes == 0 && reasons == 0 }

        static func += (sum: inout Self, share: Self) {
            sum.live += share.live
            sum.bytes += share.bytes
            sum.reasons += share.reasons
        }

        static func -= (sum: inout Self, share: Self) {
            sum.live -= share.live
            sum.bytes -= share.bytes
            sum.reasons -= share.reasons
        }
    }

    var scheduled: Int64 = 0
    var paused: Int64 = 0
    /// By the owner's row.
    var owners: [OwnerID: Share] = [:]

    mutating func count(leaving: Job.State?, entering: Job.State) {
        func change(_ state: Job.State) -> Int64 {
            (entering == state ? 1 : 0) - (leaving == state ? 1 : 0)
        }
        scheduled += change(.scheduled)
        paused += change(.paused)
    }

    static func += (sum: inout Self, tally: Self) {
        sum.scheduled += tally.scheduled
        sum.paused += tally.paused
        for (owner, share) in tally.owners { sum.owners[owner, default: Share()] += share }
    }

    /// Counts what a row of the outbox has counted that is removed, but for reasons: they count with their events.
    mutating func count(_ row: OutboxSums.Row) {
        scheduled += row.scheduled
        paused += row.paused
        guard let owner = row.owner, row.share.live != 0 || row.share.bytes != 0 else { return }
        owners[owner, default: Share()] += Share(live: row.share.live, bytes: row.share.bytes)
    }

    /// Changes the numbers that are stored: at once, or together with those of the group of records that it is counted in.
    func storeWithGroup(in database: Database) throws {
        if database.notes.groupTally == nil { return try store(in: database) }
        database.notes.groupTally? += self
    }

    /// Changes the numbers that are stored.
    func store(in database: Database) throws {
        if scheduled != 0 || paused != 0 {
            try JobStore(database).count(scheduled: scheduled, paused: paused)
        }
        for (owner, share) in owners where !share.isZero {
            try Owners(database).count(share, of: owner)
        }
    }
}

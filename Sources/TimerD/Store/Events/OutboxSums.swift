// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// What the rows of the outbox count, as the connection that writes remembers it.
///
/// It is the only one to write them. Whatever may have been undone, by a rollback or by an error of the disk, is
/// read again: see `Database.undone`.
struct OutboxSums {
    /// What one row counts.
    struct Row: Sendable {
        /// For whom; nil for nobody, and then `share` is nothing.
        var owner: OwnerID?
        var share = JobTally.Share()
        var scheduled: Int64 = 0
        var paused: Int64 = 0
    }

    private var rows: [Int64: Row] = [:]
    private var owners: [OwnerID: JobTally.Share] = [:]
    /// `Database.undone` when they were read.
    let undone: Int

    init(undone: Int) { self.undone = undone }

    subscript(owner: OwnerID) -> JobTally.Share { owners[owner] ?? JobTally.Share() }

    mutating func add(_ number: Int64, _ row: Row) {
        rows[number] = row
        if let owner = row.owner { owners[owner, default: JobTally.Share()] += row.share }
    }

    /// Some of the row's events are in the log, where their reasons count.
    mutating func tell(_ number: Int64, reasons: Int64) {
        guard let owner = rows[number]?.owner else { return }
        rows[number]?.share.reasons -= reasons
        owners[owner]?.reasons -= reasons
    }

    /// - Returns: what the row has counted; nil where there is none.
    mutating func remove(_ number: Int64) -> Row? {
        guard let row = rows.removeValue(forKey: number) else { return nil }
        if let owner = row.owner {
            owners[owner]? -= row.share
            if owners[owner]?.isZero == true { owners[owner] = nil }
        }
        return row
    }
}

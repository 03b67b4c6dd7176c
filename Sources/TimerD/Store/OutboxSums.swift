// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// What the rows of the outbox count of each owner, as the connection that writes remembers it.
///
/// It is the only one to write them. Whatever may have been undone, by a rollback or by an error of the disk, is
/// read again: see `Database.undone`.
struct OutboxSums {
    /// By its row: for whom it counts, and what.
    private var rows: [Int64: (owner: OwnerID, share: JobTally.Share)] = [:]
    private var owners: [OwnerID: JobTally.Share] = [:]
    /// `Database.undone` when they were read.
    let undone: Int

    init(undone: Int) { self.undone = undone }

    subscript(owner: OwnerID) -> JobTally.Share { owners[owner] ?? JobTally.Share() }

    mutating func add(_ row: Int64, _ owner: OwnerID, _ share: JobTally.Share) {
        rows[row] = (owner, share)
        owners[owner, default: JobTally.Share()] += share
    }

    /// Some of the row's events are in the log, where their reasons count.
    mutating func tell(_ row: Int64, reasons: Int64) {
        guard let (owner, _) = rows[row] else { return }
        rows[row]?.share.reasons -= reasons
        owners[owner]?.reasons -= reasons
    }

    mutating func remove(_ row: Int64) {
        guard let (owner, share) = rows.removeValue(forKey: row) else { return }
        owners[owner]? -= share
        if owners[owner]?.isZero == true { owners[owner] = nil }
    }
}

// SPDX-License-Identifier: Apache-2.0

/// How much one write may remove, in rows, so that no fire waits much longer than a millisecond for it.
struct WorkBudget {
    /// What a part of 64 KiB counts for, which has 32 pages.
    private static let part = 10
    private var rest = 100

    init() {}

    /// For as many looks at rows.
    init(rows: Int) { rest = rows }

    /// No bound: for a write that cannot go on without the room.
    static let unbounded = WorkBudget(rows: .max)

    var isSpent: Bool { rest <= 0 }
    /// How many rows may still be removed, at least one.
    var rows: Int { max(rest, 1) }
    /// How many parts of up to 64 KiB may still be removed, at least one.
    var parts: Int { max(rest / Self.part, 1) }

    mutating func spend(rows: Int64) { rest -= Int(rows) }
    mutating func spend(parts: Int64) { rest -= Int(parts) * Self.part }
    /// What it costs to remove a job's row, or to read one.
    mutating func spendJob() { rest -= 5 }
}

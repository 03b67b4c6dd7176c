// SPDX-License-Identifier: Apache-2.0

/// The sequence numbers of events, taken from blocks whose end is stored before any is used.
///
/// After a crash numbering goes on at the stored end, so no number is ever given twice, though
/// some are left out; pure.
struct EventNumbers: Hashable, Sendable {
    static let blockSize: Int64 = 1 << 16

    /// The next number to be given.
    private(set) var next: Int64
    /// The numbers below this are covered by the store.
    private(set) var storedEnd: Int64
    private var isExtending = false

    /// Starts with an empty block at `end`, the stored one.
    init(from end: Int64) {
        next = max(end, 1)
        storedEnd = next
    }

    /// The next number; nil where the block is used up and its extension is not stored yet.
    mutating func take() -> Int64? {
        guard next < storedEnd else { return nil }
        defer { next += 1 }
        return next
    }

    /// How many numbers can be given at once.
    var rest: Int64 { storedEnd - next }

    /// The end to be stored, once half of the block is used; nil while there is no need.
    mutating func extensionDue() -> Int64? {
        guard !isExtending, storedEnd - next <= Self.blockSize / 2 else { return nil }
        isExtending = true
        return storedEnd + Self.blockSize
    }

    mutating func extended(to end: Int64) {
        isExtending = false
        storedEnd = end
    }
}

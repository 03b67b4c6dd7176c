// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// Counts how long something took, in buckets.
public struct Histogram: Codable, Hashable, Sendable {
    /// The upper ends of the buckets, in seconds, growing; one more bucket has none.
    public private(set) var bounds: [Double]
    /// How many fell into each bucket: above the bound before it, and not above its own.
    public private(set) var counts: [Int]
    /// All of them together, in seconds.
    public private(set) var sum = 0.0

    /// `bounds`: in seconds, growing.
    public init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// How many there were.
    public var count: Int { counts.reduce(0, +) }

    /// Counts one that took `span`; a negative span, from a clock that was set back, counts as 0.
    public mutating func observe(_ span: TimeSpan, count: Int = 1) {
        let seconds = max(span, .zero).inSeconds
        counts[bounds.firstIndex { seconds <= $0 } ?? bounds.count] += count
        sum += seconds * Double(count)
    }
}

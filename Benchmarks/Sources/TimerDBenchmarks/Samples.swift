// SPDX-License-Identifier: Apache-2.0

/// Measurements of one thing, sorted.
struct Samples: Sendable {
    private let values: [Double]

    init(_ values: some Sequence<Double>) { self.values = values.sorted() }

    var min: Double { values.first ?? .nan }
    var max: Double { values.last ?? .nan }
    /// The middle value, or the mean of the two in the middle.
    var median: Double {
        guard !values.isEmpty else { return .nan }
        return (values[(values.count - 1) / 2] + values[values.count / 2]) / 2
    }

    /// The value that this share of the measurements does not exceed; not a number for none.
    func percentile(_ percent: Double) -> Double {
        guard !values.isEmpty else { return .nan }
        let rank = (percent / 100 * Double(values.count)).rounded(.up)
        return values[Swift.min(Swift.max(Int(rank) - 1, 0), values.count - 1)]
    }
}

extension Sequence {
    /// The median of one property over all, such as a figure over the rounds of a run.
    func median(_ value: (Element) -> Double) -> Double { Samples(map(value)).median }
}

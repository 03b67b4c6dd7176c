// SPDX-License-Identifier: Apache-2.0

import Schedules
import TestRandom

/// What chance decides, the same in every run with the same seed.
struct Dice: RandomNumberGenerator {
    private var random: SplitMix

    init(seed: UInt64) { random = SplitMix(seed: seed) }

    mutating func next() -> UInt64 { random.next() }

    /// A length of time between the two: short ones as likely as long ones, to the microsecond.
    mutating func span(_ shortest: TimeSpan, _ longest: TimeSpan) -> TimeSpan {
        var low = max(1, shortest.microseconds)
        var high = longest.microseconds
        // Halves of the range of magnitudes, until it is narrow.
        while high / 2 > low {
            let middle = Int64(Double(low).squareRoot() * Double(high).squareRoot())
            if isTrue(0.5) { low = middle } else { high = middle }
        }
        return TimeSpan(microseconds: Int64.random(in: low...max(low, high), using: &self))
    }

    /// One of `choices`, each as often as its weight says.
    mutating func pick<T>(_ choices: [(weight: Int, value: T)]) -> T {
        var left = Int.random(in: 0..<choices.reduce(0) { $0 + $1.weight }, using: &self)
        for choice in choices {
            left -= choice.weight
            if left < 0 { return choice.value }
        }
        preconditionFailure("the weights add up to what was drawn from")
    }
}

extension TimeSpan {
    static func minutes(_ count: Int64) -> Self { .seconds(count * 60) }
    static func hours(_ count: Int64) -> Self { .seconds(count * 3600) }
    static func days(_ count: Int64) -> Self { .seconds(count * 86_400) }

    static prefix func - (span: Self) -> Self { .zero - span }
}

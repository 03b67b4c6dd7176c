// SPDX-License-Identifier: Apache-2.0

import Schedules
import TestRandom

/// A random cron expression, with what its fields mean worked out one value at a time.
///
/// Shares no code with the parser: the text and the sets are made side by side.
struct RandomCron {
    var text: String
    var minutes: Set<Int>
    var hours: Set<Int>
    var days: Set<Int>
    var months: Set<Int>
    var weekdays: Set<Int>
    var isEither: Bool
    var followsRealTime: Bool

    init(using generator: inout SplitMix) {
        let minute = Self.field(0...59, wild: 0.2, &generator)
        let hour = Self.field(0...23, wild: 0.3, &generator)
        let day = Self.field(1...31, wild: 0.6, &generator)
        let month = Self.field(1...12, wild: 0.6, &generator)
        let weekday = Self.field(0...6, wild: 0.6, &generator)
        text = [minute, hour, day, month, weekday].map(\.text).joined(separator: " ")
        (minutes, hours, days) = (minute.values, hour.values, day.values)
        (months, weekdays) = (month.values, weekday.values)
        isEither = !day.text.hasPrefix("*") && !weekday.text.hasPrefix("*")
        followsRealTime = minute.text.hasPrefix("*") || hour.text.hasPrefix("*")
    }

    private static func field(
        _ range: ClosedRange<Int>,
        wild: Double,
        _ generator: inout SplitMix
    ) -> (text: String, values: Set<Int>) {
        if generator.isTrue(wild) { return ("*", Set(range)) }
        var texts: [String] = []
        var values: Set<Int> = []
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
            let first = Int.random(in: range, using: &generator)
            let last = Int.random(in: range, using: &generator)
            let step = Int.random(in: 2...9, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0 where first <= last:
                texts.append("\(first)-\(last)")
                values.formUnion(first...last)
            case 1 where first <= last:
                texts.append("\(first)-\(last)/\(step)")
                values.formUnion(stride(from: first, through: last, by: step))
            case 2:
                texts.append("*/\(step)")
                values.formUnion(
                    stride(from: range.lowerBound, through: range.upperBound, by: step)
                )
            default:
                texts.append("\(first)")
                values.insert(first)
            }
        }
        return (texts.joined(separator: ","), values)
    }

    /// Whether a minute of the clock on the wall matches, by the definition.
    func matches(_ minute: WallMinute) -> Bool {
        guard minutes.contains(minute.minute), hours.contains(minute.hour),
            months.contains(minute.month)
        else { return false }
        let byMonth = days.contains(minute.day)
        let byWeek = weekdays.contains(minute.weekday)
        return isEither ? byMonth || byWeek : byMonth && byWeek
    }

    func matches(_ local: LocalTime) -> Bool {
        matches(WallMinute(local))
    }
}

/// The numbers on the wall, taken from the text of a local time.
struct WallMinute {
    var month: Int
    var day: Int
    var weekday: Int
    var hour: Int
    var minute: Int

    init(_ local: LocalTime) {
        let numbers = local.description.utf8.split { !(48...57).contains($0) }.map { digits in
            digits.reduce(0) { $0 * 10 + Int($1) - 48 }
        }
        (month, day, hour, minute) = (numbers[1], numbers[2], numbers[3], numbers[4])
        // 1970-01-01 was a Thursday.
        let days = Int((Double(local.microseconds) / 86_400_000_000).rounded(.down))
        weekday = ((days + 4) % 7 + 7) % 7
    }
}

// SPDX-License-Identifier: Apache-2.0

import TestRandom
import Testing

@testable import Schedules

@Suite("CalendarComponent") struct CalendarComponentTests {
    @Test(
        "Entries are searched and counted as if each of their values were looked at",
        arguments: [(limit: 9999, unit: 1), (limit: 59_999_999, unit: 1_000_000)]
    )
    func plain(limit: Int64, unit: Int64) {
        var generator = SplitMix(seed: 21)
        for _ in 0..<400 {
            let random = RandomEntries(limit: limit, unit: unit, using: &generator)
            let sorted = random.values.sorted()
            var component = CalendarComponent(items: random.items, unit: unit)
            component.normalize()
            component.list(limit: limit)
            #expect(component.count(below: limit + 1, limit: limit) == sorted.count)
            for _ in 0..<40 {
                let any = Int64.random(in: 0...limit, using: &generator)
                let near = sorted.randomElement(using: &generator) ?? any
                for value in [any, near, near + 1, 0, limit] where value <= limit {
                    let first = component.first(atOrAfter: value, limit: limit)
                    #expect(first == sorted.first { $0 >= value }, "\(component.text(width: 1))")
                    let count = component.count(below: value, limit: limit)
                    let below = sorted.prefix { $0 < value }.count
                    #expect(count == below, "\(component.text(width: 1)) below \(value)")
                }
            }
        }
    }

    @Test("The mask of a list has each value of each entry")
    func masks() {
        var generator = SplitMix(seed: 22)
        for _ in 0..<400 {
            let random = RandomEntries(limit: 59, unit: 1, using: &generator)
            var component = CalendarComponent(items: random.items, unit: 1)
            component.normalize()
            let mask = random.values.reduce(0) { $0 | UInt64(1) << UInt64($1) }
            #expect(component.bits(in: 0...59) == mask, "\(component.text(width: 1))")
        }
    }

    @Test("The entries of a list have up to 1,000 values together, a single one any number")
    func most() throws {
        let accepted = [
            "*:*:0/0.01", "*:*:0/0.12,0.000001/0.12", "1970/1-1-1", "2026..2999/2,9000-1-1",
        ]
        for text in accepted {
            let fields = try CalendarExpression(parsing: text, zone: .utc).fields
            #expect(fields.seconds.values.count <= CalendarComponent.mostListed)
            #expect(fields.years.values.count <= CalendarComponent.mostListed)
        }
        let many = (1...70).map { "0.00\($0 < 10 ? "0" : "")\($0)/0.01" }.joined(separator: ",")
        let refused = [
            ("*:*:" + many, "seconds", 70, 420_000),
            ("*:*:0/0.12,0.000001/0.12,5", "seconds", 3, 1001),
            ("1970/2,1971/8-1-1", "years", 2, 5019),
        ]
        for (text, name, entries, count) in refused {
            let error = #expect(throws: ScheduleError.self) {
                try CalendarExpression(parsing: text, zone: .utc)
            }
            let message =
                "calendar '\(text)': the list of \(name) is not accepted; its \(entries) different "
                + "entries have \(count) values together, and those of a list may have 1000; "
                + "a single range or step may have any number"
            #expect(error?.code == .badCalendar)
            #expect(error?.message == message)
        }
    }
}

/// The entries of a component, with their values worked out one at a time.
private struct RandomEntries {
    var items: [CalendarComponent.Item] = []
    var values: Set<Int64> = []

    init(limit: Int64, unit: Int64, using generator: inout SplitMix) {
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            let start = Int64.random(in: 0...limit, using: &generator)
            let end = Int64.random(in: 0...limit, using: &generator)
            let step = Int64.random(in: max(1, limit / 80)...(limit / 3), using: &generator)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0 where start + step <= end:
                items.append(.init(start: start, stop: end, step: step))
                add(from: start, through: end, by: step)
            case 1 where start + step <= limit:
                items.append(.init(start: start, stop: nil, step: step))
                add(from: start, through: limit, by: step)
            default:
                items.append(.init(start: start, stop: nil, step: 0))
                values.insert(start)
            }
        }
    }

    private mutating func add(from start: Int64, through end: Int64, by step: Int64) {
        var value = start
        while value <= end {
            values.insert(value)
            value += step
        }
    }
}

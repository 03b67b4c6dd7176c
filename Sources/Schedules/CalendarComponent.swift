// SPDX-License-Identifier: Apache-2.0

/// One component of a calendar expression, such as its hours: a list of values, ranges and steps.
///
/// An empty list is `*`. Seconds count in µs, everything else in ones.
struct CalendarComponent: Hashable, Sendable {
    /// `start`, `start..stop`, `start/step` or `start..stop/step`.
    struct Item: Hashable, Sendable {
        var start: Int64
        /// The last value, a whole number of steps after `start`; nil for one value, or for an open
        /// end.
        var stop: Int64?
        /// 0 for one value.
        var step: Int64
    }

    var items: [Item]
    /// 1, or a million for seconds.
    let unit: Int64

    /// `*`: any value.
    static func any(unit: Int64 = 1) -> Self {
        Self(items: [], unit: unit)
    }

    static func value(_ value: Int64, unit: Int64 = 1) -> Self {
        Self(items: [Item(start: value, stop: nil, step: 0)], unit: unit)
    }

    var isAny: Bool { items.isEmpty }

    /// The first item that lies outside `range`, or whose range or step has no second value in it.
    ///
    /// `countsDown` is for days before the month's end, whose steps lead towards 1.
    func invalidItem(in range: ClosedRange<Int64>, countsDown: Bool = false) -> Item? {
        items.first { item in
            guard range.contains(item.start), item.step <= range.upperBound - range.lowerBound
            else { return true }
            if let stop = item.stop {
                return !range.contains(stop) || item.start + item.step > stop
            }
            return !range.contains(countsDown ? item.start - item.step : item.start + item.step)
        }
    }

    /// Sorts the items, joins equal ones, and ends each range on a value that it reaches.
    mutating func normalize() {
        for index in items.indices {
            let item = items[index]
            guard let stop = item.stop else { continue }
            if stop > item.start, item.step > 0 {
                items[index].stop = stop - (stop - item.start) % item.step
            }
            if stop == item.start || stop > item.start && item.start + item.step > stop {
                items[index].step = 0
                items[index].stop = nil
            }
        }
        // Every whole second is `*`, whatever stands beside it.
        if unit > 1,
            items.contains(Item(start: 0, stop: nil, step: unit)),
            items.allSatisfy({ $0.start % unit == 0 && $0.step % unit == 0 })
        {
            items = [Item(start: 0, stop: nil, step: unit)]
        }
        items.sort { ($0.start, $0.stop ?? -1, $0.step) < ($1.start, $1.stop ?? -1, $1.step) }
        items = items.enumerated().filter { $0.offset == 0 || items[$0.offset - 1] != $0.element }
            .map(\.element)
    }

    /// The first value from `value` to `limit`; nil when there is none.
    ///
    /// Allocates nothing.
    func first(atOrAfter value: Int64, limit: Int64) -> Int64? {
        if items.isEmpty {
            return value <= limit ? value : nil
        }
        var best = Int64.max
        for item in items {
            var candidate = item.start
            if candidate < value {
                guard item.step > 0 else { continue }
                candidate += (value - candidate + item.step - 1) / item.step * item.step
            }
            if candidate <= item.stop ?? limit { best = min(best, candidate) }
        }
        return best <= limit ? best : nil
    }

    /// How many values lie below `end`, which is no more than one above `limit`.
    ///
    /// One item is counted by arithmetic. Several items may share values, so their values are counted one by
    /// one.
    func count(below end: Int64, limit: Int64) -> Int {
        if items.count == 1 {
            let item = items[0]
            if item.start >= end { return 0 }
            if item.step == 0 { return 1 }
            return Int((min(item.stop ?? limit, end - 1) - item.start) / item.step) + 1
        }
        var count = 0
        var value = first(atOrAfter: 0, limit: limit)
        while let current = value, current < end {
            count += 1
            value = first(atOrAfter: current + 1, limit: limit)
        }
        return count
    }

    /// Bit v is set for each value v of the range, which lies within 0 to 63.
    func bits(in range: ClosedRange<Int64>) -> UInt64 {
        var bits: UInt64 = 0
        var value = first(atOrAfter: range.lowerBound, limit: range.upperBound)
        while let current = value {
            bits |= 1 << UInt64(current)
            value = first(atOrAfter: current + 1, limit: range.upperBound)
        }
        return bits
    }

    /// Bit n is set for the n-th last day of a month; steps count towards the end.
    func bitsFromEnd() -> UInt64 {
        if isAny { return ~1 }
        var bits: UInt64 = 0
        for item in items {
            var value = item.stop ?? item.start
            let last = item.stop == nil ? 1 : item.start
            while value >= last {
                bits |= 1 << UInt64(value)
                if item.step == 0 { break }
                value -= item.step
            }
        }
        return bits
    }
}

extension CalendarComponent {
    /// The normalised form, its numbers at least `width` digits wide.
    func text(width: Int) -> String {
        if isAny || items == [Item(start: 0, stop: nil, step: unit)] && unit > 1 { return "*" }
        return items.map { item in
            var text = number(item.start, width: width)
            if let stop = item.stop { text += ".." + number(stop, width: width) }
            if item.step > 0, item.stop == nil || item.step != unit {
                text += "/" + number(item.step, width: 1)
            }
            return text
        }.joined(separator: ",")
    }

    private func number(_ value: Int64, width: Int) -> String {
        let (whole, fraction) = value.quotientAndRemainder(dividingBy: unit)
        let text = padded(whole, width)
        return fraction == 0 ? text : text + "." + padded(fraction, 6)
    }

    private func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}

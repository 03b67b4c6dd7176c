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
    /// The values of several items, each once, in order; empty where they were not listed.
    ///
    /// Items overlap, so that only this tells how many values they have.
    private(set) var values: [Int32] = []

    init(items: [Item], unit: Int64) {
        self.items = items
        self.unit = unit
    }

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

    /// Bit v is set for each value v of the range, which lies within 0 to 63.
    func bits(in range: ClosedRange<Int64>) -> UInt64 {
        if items.isEmpty { return range.reduce(0) { $0 | 1 << UInt64($1) } }
        var bits: UInt64 = 0
        for item in items {
            var value = item.start
            let last = min(item.last(limit: range.upperBound), range.upperBound)
            while value <= last {
                if value >= range.lowerBound { bits |= 1 << UInt64(value) }
                if item.step == 0 { break }
                value += item.step
            }
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

// Searching and counting, for the components that have more values than a mask has bits: years and seconds.
extension CalendarComponent {
    /// How many values several items may have together: what is listed is kept with each schedule, and listed
    /// anew each time that one is read.
    static let mostListed = 1000

    /// How many values the items have together, of those up to `limit`; one that several have is counted with each.
    func countOfAll(limit: Int64) -> Int {
        items.reduce(0) { $0 + $1.count(through: limit) }
    }

    /// Lists the values of several items, which are valid and have no more than `mostListed`.
    mutating func list(limit: Int64) {
        guard items.count > 1 else { return }
        var all: [Int32] = []
        all.reserveCapacity(countOfAll(limit: limit))
        for item in items {
            for value in stride(
                from: item.start,
                through: item.last(limit: limit),
                by: Int64.Stride(max(item.step, 1))
            ) {
                all.append(Int32(value))
            }
        }
        all.sort()
        values.reserveCapacity(all.count)
        for value in all where value != values.last { values.append(value) }
    }

    /// The first value from `value` to `limit`; nil when there is none.
    ///
    /// Several items have been listed. Allocates nothing.
    ///
    /// - Complexity: O(log n) for n values of several items; else O(1).
    func first(atOrAfter value: Int64, limit: Int64) -> Int64? {
        if items.isEmpty { return value <= limit ? value : nil }
        if items.count > 1 {
            let index = countOfListed(below: value)
            return index < values.count ? Int64(values[index]) : nil
        }
        let item = items[0]
        var first = item.start
        if first < value {
            guard item.step > 0 else { return nil }
            first += (value - first + item.step - 1) / item.step * item.step
        }
        return first <= min(item.last(limit: limit), limit) ? first : nil
    }

    /// How many values lie below `end`, which is no more than one above `limit`.
    ///
    /// Several items have been listed.
    ///
    /// - Complexity: that of `first(atOrAfter:limit:)`.
    func count(below end: Int64, limit: Int64) -> Int {
        if items.isEmpty { return Int(max(0, end)) }
        return items.count > 1
            ? countOfListed(below: end) : items[0].count(through: min(limit, end - 1))
    }

    /// How many of the listed values lie below `end`: a binary search.
    private func countOfListed(below end: Int64) -> Int {
        var (low, high) = (0, values.count)
        while low < high {
            let middle = (low + high) / 2
            if Int64(values[middle]) < end { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension CalendarComponent.Item {
    /// The last value, or a bound of it: no value lies behind it up to `limit`.
    func last(limit: Int64) -> Int64 {
        stop ?? (step == 0 ? start : limit)
    }

    /// How many values lie up to and including `end`.
    fileprivate func count(through end: Int64) -> Int {
        let last = min(last(limit: end), end)
        if last < start { return 0 }
        return step == 0 ? 1 : Int((last - start) / step) + 1
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

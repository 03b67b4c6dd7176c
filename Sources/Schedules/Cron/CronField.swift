// SPDX-License-Identifier: Apache-2.0

/// One field of a cron expression: its range, its names and its words in messages.
enum CronField: String {
    case second
    case minute
    case hour
    case dayOfMonth = "day of month"
    case month
    case dayOfWeek = "day of week"

    /// The smallest and the largest number; Sunday is 0 and 7.
    var range: ClosedRange<Int> {
        switch self {
        case .second, .minute: 0...59
        case .hour: 0...23
        case .dayOfMonth: 1...31
        case .month: 1...12
        case .dayOfWeek: 0...7
        }
    }

    private var names: [String] {
        switch self {
        case .month:
            [
                "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov",
                "dec",
            ]
        case .dayOfWeek: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
        default: []
        }
    }

    /// What the field accepts, for messages.
    var accepted: String {
        let forms = "'*', lists 'a,b', ranges 'a-b' and steps '*/n'"
        switch self {
        case .second, .minute: return "0 to 59, \(forms)"
        case .hour: return "0 to 23, \(forms)"
        case .dayOfMonth: return "1 to 31, \(forms), 'L', 'L-n', 'LW' and 'nW'"
        case .month: return "1 to 12, jan to dec, \(forms)"
        case .dayOfWeek: return "0 to 7, sun to sat, \(forms), 'nL' and 'n#k'"
        }
    }

    /// A number or a name of the field.
    func value(_ word: Substring) -> Int? {
        if let number = Self.number(word) { return range.contains(number) ? number : nil }
        guard let index = names.firstIndex(of: word.lowercased()) else { return nil }
        return index + range.lowerBound
    }

    /// Reads digits alone; `Int.max` for a number that does not fit.
    static func number(_ word: Substring) -> Int? {
        guard !word.isEmpty, word.utf8.allSatisfy(\.isDigit) else { return nil }
        return Int(word) ?? .max
    }

    /// The bits of `*`, `a`, `a-b`, each with `/n` if wanted; nil for anything else.
    func bits(_ item: Substring) -> UInt64? {
        let parts = item.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        var step = 1
        if parts.count == 2 {
            guard let number = Self.number(parts[1]), number >= 1 else { return nil }
            step = number
        }
        // The week wraps after seven days although it has eight numbers.
        let size = self == .dayOfWeek ? 7 : range.count
        var (low, high) = (range.lowerBound, range.upperBound)
        if parts[0] != "*" {
            let ends = parts[0].split(
                separator: "-",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            guard let first = value(ends[0]) else { return nil }
            low = first
            if ends.count == 2 {
                guard let second = value(ends[1]) else { return nil }
                high = second
            } else if parts.count == 1 {
                high = low
            }
            if low > high { high += size }
        }
        var bits: UInt64 = 0
        var value = low
        while value <= high {
            bits |= 1 << UInt64((value - range.lowerBound) % size + range.lowerBound)
            let (next, overflow) = value.addingReportingOverflow(step)
            if overflow { break }
            value = next
        }
        return bits
    }
}

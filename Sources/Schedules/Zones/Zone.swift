// SPDX-License-Identifier: Apache-2.0

/// A time zone: which local time a clock on the wall shows at an instant, and when a local time
/// comes.
///
/// A cheap value: copies share one immutable table. How daylight saving moves schedules is
/// documented and decided in LocalTime.swift.
public struct Zone: Hashable, Sendable {
    let table: ZoneTable

    init(table: ZoneTable) {
        self.table = table
    }

    /// Coordinated universal time; needs no file.
    public static let utc = Zone(table: ZoneTable(name: "UTC", offset: 0, abbreviation: "UTC"))

    /// The name it was found by, such as "Europe/Berlin".
    public var name: String { table.name }

    /// What its rules were read from: a compiled file, or a POSIX TZ string; empty for UTC.
    public var source: [UInt8] { table.source }

    /// Seconds east of UTC at `date`.
    public func offset(at date: Timestamp) -> Int {
        Int(table.period(at: floorDivide(date.microseconds, by: 1_000_000).quotient).offset)
    }

    /// The abbreviation of the local time at `date`, such as "CEST"; "+0430" in a zone without letters for
    /// it.
    public func abbreviation(at date: Timestamp) -> String {
        let period = table.period(at: floorDivide(date.microseconds, by: 1_000_000).quotient)
        return table.abbreviations[Int(period.abbreviation)]
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.table === right.table || left.table.isEqual(to: right.table)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(table.name)
    }
}

/// A stretch of time with one offset from UTC, in seconds since 1970.
struct ZonePeriod {
    /// The first second of the period; `Int64.min` for the oldest.
    var start: Int64
    /// The first second after it; `Int64.max` for the last.
    var end: Int64
    /// Seconds east of UTC.
    var offset: Int64
    /// Index into the table's abbreviations.
    var abbreviation: UInt8
}

/// The periods of one zone, immutable: those of its file, and after them what its rule computes.
final class ZoneTable: Sendable {
    let name: String
    /// The second each period but the first begins, ascending.
    let transitions: [Int64]
    /// Seconds east of UTC, one more than there are transitions.
    let offsets: [Int32]
    /// Indices into `abbreviations`, one for each offset.
    let abbreviationIndices: [UInt8]
    let abbreviations: [String]
    /// What holds from the last transition on; nil when the last offset stays for good.
    let rule: ZoneRule?
    /// What all that was read from: a file, or a POSIX TZ string; empty for UTC.
    let source: [UInt8]

    init(
        name: String,
        transitions: [Int64],
        offsets: [Int32],
        abbreviationIndices: [UInt8],
        abbreviations: [String],
        rule: ZoneRule?,
        source: [UInt8] = []
    ) {
        self.name = name
        self.transitions = transitions
        self.offsets = offsets
        self.abbreviationIndices = abbreviationIndices
        self.abbreviations = abbreviations
        self.rule = rule
        self.source = source
    }

    /// A zone that never changes.
    convenience init(name: String, offset: Int32, abbreviation: String) {
        self.init(
            name: name,
            transitions: [],
            offsets: [offset],
            abbreviationIndices: [0],
            abbreviations: [abbreviation],
            rule: nil
        )
    }

    /// The period that holds `second`.
    ///
    /// Binary search in the file's part, arithmetic after it; allocates nothing.
    func period(at second: Int64) -> ZonePeriod {
        let count = transitions.count
        if count == 0 || second >= transitions[count - 1] {
            let start = count == 0 ? Int64.min : transitions[count - 1]
            if let rule {
                var period = rule.period(at: second)
                period.start = max(period.start, start)
                return period
            }
            return ZonePeriod(
                start: start,
                end: .max,
                offset: Int64(offsets[count]),
                abbreviation: abbreviationIndices[count]
            )
        }
        // The first transition after `second`.
        var low = 0
        var high = count - 1
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle] > second { high = middle } else { low = middle + 1 }
        }
        return ZonePeriod(
            start: low == 0 ? .min : transitions[low - 1],
            end: transitions[low],
            offset: Int64(offsets[low]),
            abbreviation: abbreviationIndices[low]
        )
    }

    func isEqual(to other: ZoneTable) -> Bool {
        name == other.name && transitions == other.transitions && offsets == other.offsets
            && abbreviationIndices == other.abbreviationIndices
            && abbreviations == other.abbreviations && rule == other.rule
    }
}

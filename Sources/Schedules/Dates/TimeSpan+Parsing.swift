// SPDX-License-Identifier: Apache-2.0

extension TimeSpan {
    /// Reads a time span of systemd.time(7): "5s", "1h 30min", "250ms", "2.5h", "1w"; a bare number
    /// is seconds.
    ///
    /// Units are case-sensitive (`m` is a minute, `M` a month of 30.4375 days). Parts below 1 µs
    /// are cut off.
    ///
    /// - Throws: `badDuration` for anything else, a negative span and what exceeds 292,000 years.
    public init(parsing text: String) throws(ScheduleError) {
        var reader = TimeSpanReader(text: text)
        microseconds = try reader.read()
    }
}

/// One pass over the bytes of a time span.
private struct TimeSpanReader {
    let text: String
    var rest: Substring.UTF8View

    init(text: String) {
        self.text = text
        rest = text[...].utf8
    }

    private static let units: [String: Int64] = [
        "us": 1, "usec": 1, "µs": 1, "μs": 1,
        "ms": 1000, "msec": 1000,
        "": 1_000_000, "s": 1_000_000, "sec": 1_000_000, "second": 1_000_000, "seconds": 1_000_000,
        "m": 60_000_000, "min": 60_000_000, "minute": 60_000_000, "minutes": 60_000_000,
        "h": 3_600_000_000, "hr": 3_600_000_000, "hour": 3_600_000_000, "hours": 3_600_000_000,
        "d": 86_400_000_000, "day": 86_400_000_000, "days": 86_400_000_000,
        "w": 604_800_000_000, "week": 604_800_000_000, "weeks": 604_800_000_000,
        "M": 2_629_800_000_000, "month": 2_629_800_000_000, "months": 2_629_800_000_000,
        "y": 31_557_600_000_000, "year": 31_557_600_000_000, "years": 31_557_600_000_000,
    ]

    mutating func read() throws(ScheduleError) -> Int64 {
        skipSpaces()
        // A sign may stand before the whole, as "+3.1s" does; a negative time has no meaning here.
        if rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
        if rest.first == UInt8(ascii: "-") {
            throw ScheduleError(.badDuration, "duration '\(text)' is negative; try '5s'")
        }
        if rest.isEmpty { throw notADuration() }
        var total: Int64 = 0
        while !rest.isEmpty {
            let (sum, overflow) = total.addingReportingOverflow(try part())
            if overflow { throw tooLong() }
            total = sum
            skipSpaces()
        }
        return total
    }

    /// One number with its unit, in µs.
    private mutating func part() throws(ScheduleError) -> Int64 {
        let whole = digits()
        var fraction = rest[..<rest.startIndex]
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            fraction = digits()
            if fraction.isEmpty { throw notADuration() }
        } else if whole.isEmpty {
            throw notADuration()
        }
        let start = rest.startIndex
        skipSpaces()
        let isApart = rest.startIndex != start
        let unit = try unit()
        // A bare number needs a blank before the next one: "12.34.56" is a slip.
        if rest.startIndex == start, !isApart, !rest.isEmpty { throw notADuration() }
        var value: Int64 = 0
        for digit in whole {
            let (scaled, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = scaled.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
            if overflow || carry { throw tooLong() }
            value = sum
        }
        let (product, overflow) = value.multipliedReportingOverflow(by: unit)
        if overflow { throw tooLong() }
        // Eighteen digits and a month in µs fit into 128 bits; more digits are below 1 µs of any
        // unit.
        var below: Int128 = 0
        var scale: Int128 = 1
        for digit in fraction.prefix(18) {
            below = below * 10 + Int128(digit - UInt8(ascii: "0"))
            scale *= 10
        }
        below = below * Int128(unit) / scale
        let (sum, carry) = product.addingReportingOverflow(Int64(below))
        if carry { throw tooLong() }
        return sum
    }

    private mutating func unit() throws(ScheduleError) -> Int64 {
        // A unit ends where the next number, a point or a blank begins.
        let end =
            rest.firstIndex {
                $0.isBlank || $0.isDigit || ".+-".utf8.contains($0)
            } ?? rest.endIndex
        let name = String(Substring(rest[..<end]))
        guard let unit = Self.units[name] else {
            throw ScheduleError(
                .badDuration,
                "duration '\(text)' has the unknown unit '\(name)'; "
                    + "units are us, ms, s, min, h, d, w, month and y"
            )
        }
        rest = rest[end...]
        return unit
    }

    private mutating func digits() -> Substring.UTF8View {
        let end = rest.firstIndex { !$0.isDigit } ?? rest.endIndex
        defer { rest = rest[end...] }
        return rest[..<end]
    }

    private mutating func skipSpaces() {
        rest = rest.drop { $0.isBlank }
    }

    private func notADuration() -> ScheduleError {
        ScheduleError(
            .badDuration,
            "'\(text)' is not a duration, such as '5s', '1h 30min' or '250ms'"
        )
    }

    private func tooLong() -> ScheduleError {
        ScheduleError(.badDuration, "duration '\(text)' is too long; at most 100 years")
    }
}

// SPDX-License-Identifier: Apache-2.0

@testable import Schedules

/// A duration is the same after it was written and read again.
func checkDuration(_ input: [UInt8]) throws {
    let text = String(decoding: input, as: UTF8.self)
    // try?: what is no duration is refused.
    guard let span = try? TimeSpan(parsing: text) else { return }
    try require(span >= .zero, "\(span.microseconds) µs is negative")
    let again = try TimeSpan(parsing: span.description)
    try require(again == span, "\(span.microseconds) µs, \(span), became \(again)")
}

/// A date lies within the calendar, and is the same after it was written and read again.
func checkDate(_ input: [UInt8]) throws {
    let text = String(decoding: input, as: UTF8.self)
    if let date = Timestamp(rfc3339: text) {
        try require(Timestamp(rfc3339: date.rfc3339) == date, "\(date) is read as another date")
    }
    var choice = Choice(of: input)
    let zone = choice.zone()
    let now = choice.date()
    // try?: what is no date is refused.
    guard let (date, _) = try? DateExpression.parse(text, now: now, zone: zone) else { return }
    try require(date >= .distantPast && date <= .distantFuture, "\(date.microseconds) µs")
    try require(Timestamp(rfc3339: date.rfc3339) == date, "\(date) is read as another date")
}

/// A POSIX TZ string gives a zone whose periods follow on one another.
func checkZoneName(_ input: [UInt8]) throws {
    let text = String(decoding: input, as: UTF8.self)
    // try?: what is no zone is refused.
    guard let zone = try? Zone(named: text) else { return }
    try checkZone(zone, Choice(of: input))
}

/// A zone file gives a zone whose periods follow on one another.
func checkZoneFile(_ input: [UInt8]) throws {
    guard let table = ZoneFile.parse(input, name: "fuzzed") else { return }
    try checkZone(Zone(table: table), Choice(of: input))
}

/// Each instant lies in its period, periods meet, and a local time comes when it is shown.
private func checkZone(_ zone: Zone, _ choice: Choice) throws {
    var choice = choice
    for _ in 0..<4 {
        let date = choice.date()
        let period = zone.period(at: date.microseconds)
        try require(
            period.start <= date.microseconds && date.microseconds < period.end,
            "\(date) is not in its period, \(period)"
        )
        try checkPeriod(period, holds: period.start, in: zone)
        if period.end < .max {
            try checkPeriod(period, holds: period.end - 1, in: zone)
            let next = zone.period(at: period.end)
            try require(next.start == period.end, "at \(date), \(next) follows \(period)")
        }
        _ = zone.abbreviation(at: date)
        try checkLocalTime(at: date, in: zone)
        try checkDates(
            .calendar(CalendarExpression(parsing: "*-*-* 02:30", zone: zone)),
            after: date
        )
        try checkDates(.cron(CronExpression(parsing: "*/20 2 * * *", zone: zone)), after: date)
    }
}

private func checkLocalTime(at date: Timestamp, in zone: Zone) throws {
    let local = zone.localTime(at: date)
    let resolved = zone.resolve(local)
    // At the ends of the calendar, local times of some zones lie beyond it, or come at instants beyond it.
    let range = Timestamp.distantPast.microseconds...Timestamp.distantFuture.microseconds
    guard range.contains(local.microseconds), range.contains(resolved.date.microseconds)
    else { return }
    try require(zone.localTime(at: resolved.date) >= local, "\(local) became \(resolved)")
    try require(resolved.date <= date, "\(local) is shown at \(date), resolved \(resolved)")
}

private func checkPeriod(_ period: Zone.Period, holds microsecond: Int64, in zone: Zone) throws {
    // Beyond the calendar nobody asks.
    guard microsecond >= Timestamp.distantPast.microseconds else { return }
    let found = zone.period(at: microsecond)
    try require(
        found.start == period.start && found.end == period.end && found.offset == period.offset,
        "\(microsecond) µs is in \(found) and in \(period)"
    )
}

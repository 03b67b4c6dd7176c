// SPDX-License-Identifier: Apache-2.0

@testable import Schedules

/// A cron expression is the same schedule in its normal form; its dates go forward.
func checkCron(_ input: [UInt8]) throws {
    var choice = Choice(of: input)
    try checkWords(ScheduleWords(cron: String(decoding: input, as: UTF8.self)), &choice) {
        ScheduleWords(cron: $0)
    }
}

/// A calendar expression is the same schedule in its normal form; its dates go forward.
func checkCalendar(_ input: [UInt8]) throws {
    var choice = Choice(of: input)
    try checkWords(ScheduleWords(calendar: String(decoding: input, as: UTF8.self)), &choice) {
        ScheduleWords(calendar: $0)
    }
}

private func checkWords(
    _ words: ScheduleWords,
    _ choice: inout Choice,
    again: (String) -> ScheduleWords
) throws {
    let zone = choice.zone()
    let now = choice.date()
    let schedule: Schedule
    do {
        schedule = try words.schedule(anchor: now, zone: zone)
    } catch {
        try require(!error.message.isEmpty, "it is refused without a reason")
        return
    }
    // try?: that it never fires is a reason to refuse it, and is told.
    _ = try? words.resolve(now: now, zone: zone)
    let normal = schedule.normalized
    let same = try again(normal).schedule(anchor: now, zone: zone)
    try require(same.normalized == normal, "'\(normal)' becomes '\(same.normalized)'")
    try require(fields(same) == fields(schedule), "'\(normal)' is another schedule")
    try require(!schedule.explanation(in: zone).isEmpty, "nothing explains '\(normal)'")
    try checkDates(schedule, after: now)
    let date = choice.date()
    try require(
        schedule.nextFireDate(after: date) == same.nextFireDate(after: date),
        "'\(normal)' has another date after \(date)"
    )
}

/// What an expression matches, without the words it was written in.
private func fields(_ schedule: Schedule) -> AnyHashable? {
    switch schedule {
    case .cron(let expression): expression.fields
    case .calendar(let expression): expression.fields
    case .once, .every, .reboot: nil
    }
}

/// Each date lies after the one before it, nothing lies between them, and counting finds as many.
func checkDates(_ schedule: Schedule, after start: Timestamp) throws {
    let microsecond = TimeSpan(microseconds: 1)
    var dates: [Timestamp] = []
    var last = start.clamped
    while dates.count < 4, let next = schedule.nextFireDate(after: last) {
        try require(next > last, "\(next) comes after \(last)")
        try require(
            schedule.nextFireDate(after: next - microsecond) == next,
            "\(next) comes after \(last), but not after the microsecond before it"
        )
        _ = schedule.movedByDaylightSaving(next)
        dates.append(next)
        last = next
    }
    guard let first = dates.first else { return }
    let passed = schedule.passedDates(from: first, through: last, newest: 2)
    try require(
        passed.count == dates.count && passed.last == last
            && passed.newest == Array(dates.suffix(2)),
        "the dates \(dates) are counted as \(passed)"
    )
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules

/// `timerctl next`: coming fire dates of a schedule, without a job and without a daemon.
struct Next: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the coming fire dates of a schedule; needs no daemon.",
        discussion: """
            Local time, UTC and the distance of each date, and a mark where daylight saving moved \
            it. --json prints one object with the dates in UTC.

            Examples:
              timerctl next --every 90s
              timerctl next --at 'tomorrow 09:00'
              timerctl next --every 1d --from '2026-12-01 09:00' -n 10 --after '2026-12-24'
            """
    )

    @OptionGroup(title: "Schedule")
    var schedule: ScheduleOptions

    @Option(
        name: .customShort("n"),
        parsing: .unconditional,
        help: ArgumentHelp("How many dates.", valueName: "number")
    )
    var number = 5

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("As if now were this date.", valueName: "date")
    )
    var after: String?

    @Flag(help: #"Print {"fireDates": [...]}."#)
    var json = false

    mutating func validate() throws {
        try schedule.check()
        guard number > 0 else { throw ValidationError("-n \(number) is not a number from 1") }
    }

    func run() throws {
        let preview = try preview(now: .now, local: .local)
        for note in preview.notes { Output.complain("note: \(note)") }
        try Output.write(json ? preview.json : preview.text(for: .current))
    }

    /// - Throws: `ScheduleError` for a schedule that cannot be read or has no coming date.
    func preview(now: Timestamp, local: Zone) throws(ScheduleError) -> Preview {
        let zone = try schedule.zone(local: local)
        var start = now
        var notes: [String] = []
        if let after {
            let (date, note) = try DateExpression.parse(after, now: now, zone: zone)
            start = date
            notes += [note].compactMap(\.self)
        }
        let (words, wordNotes) = try schedule.words(now: start, local: local, isZoneChosen: false)
        let resolved = try words.resolve(now: start, zone: zone)
        try resolved.requireFuture(after: start)
        var dates: [Preview.FireDate] = []
        var date = resolved.firstFireDate
        while let next = date, dates.count < number {
            let isMoved = resolved.schedule.movedByDaylightSaving(next)
            dates.append(.init(date: next, isMoved: isMoved))
            date = resolved.schedule.nextFireDate(after: next)
        }
        if dates.isEmpty {
            throw ScheduleError(.neverFires, "'@reboot' has no dates of its own")
        }
        return Preview(
            dates: dates,
            notes: notes + wordNotes + resolved.notes,
            local: LocalDate(now: now, zone: zone)
        )
    }
}

/// The coming dates of a schedule, as `next` prints them.
struct Preview {
    struct FireDate: Hashable {
        var date: Timestamp
        /// Whether it stands for a local time that daylight saving skipped.
        var isMoved: Bool
    }

    var dates: [FireDate]
    var notes: [String]
    var local: LocalDate

    /// One object on a line: `{"fireDates":["2026-12-01T08:00:00.000000Z"]}`.
    var json: String {
        let list = dates.map { "\"\($0.date.rfc3339)\"" }.joined(separator: ",")
        return "{\"fireDates\":[\(list)]}\n"
    }

    func text(for terminal: Terminal) -> String {
        var table = Table(columns: [
            .init(title: "LOCAL TIME"), .init(title: "UTC"), .init(title: "DISTANCE"),
        ])
        let utc = LocalDate(now: local.now, zone: .utc)
        table.rows = dates.map { fire in
            let distance = local.distance(fire.date)
            return [
                .init("\(local.weekday(fire.date)) \(local.full(fire.date))"),
                .init(utc.dayAndTime(fire.date)),
                .init(fire.isMoved ? "\(distance)  moved by daylight saving" : distance),
            ]
        }
        return table.text(for: terminal)
    }
}

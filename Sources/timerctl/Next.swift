// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerWords

/// `timerctl next`: coming fire dates of a schedule, without a job and without a daemon.
struct Next: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "next",
        abstract: "Print the coming fire dates of a schedule; needs no daemon.",
        discussion: """
            The schedule is one of the options, or bare: then its kind is the one that takes it. \
            Printed are local time, UTC and the distance of each date, and a mark where a \
            clock change moved it or its local time comes twice. --json prints one object with the \
            dates in UTC.

            Examples:
              timerctl next '0 9 * * 1-5'
              timerctl next 'Mon..Fri 09:00' --tz Europe/Berlin -n 10
              timerctl next --every 90s
              timerctl next --at 'tomorrow 09:00'
              timerctl next --every 1d --from '2026-12-01 09:00' -n 10 --after '2026-12-24'
            """
    )

    @OptionGroup(title: "Schedule")
    var schedule: ScheduleArgument

    @Option(
        name: .customShort("n", allowingJoined: true),
        parsing: .unconditional,
        help: ArgumentHelp("How many dates; default 5.", valueName: "number"),
        transform: wholeNumber("-n", "from 1 to \(Self.mostDates)")
    )
    var number = 5

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("As if now were this date.", valueName: "date")
    )
    var after: String?

    @Flag(help: #"Print {"fireDates": [...]}."#)
    var json = false

    /// A date each second for eleven days: more is a mistake, and would only fill the memory.
    static let mostDates = 1_000_000

    mutating func validate() throws {
        try schedule.check()
        guard (1...Self.mostDates).contains(number) else {
            throw ValidationError("-n \(number) is not a number from 1 to \(Self.mostDates)")
        }
    }

    func run() throws {
        let preview = try preview(now: .now, local: .local)
        for note in preview.notes { Output.complain("note: \(note)") }
        try Output.write(json ? preview.json : preview.text(for: .current))
    }

    /// - Throws: `ScheduleError` for a schedule that cannot be read or has no coming date.
    func preview(now: Timestamp, local: Zone) throws(ScheduleError) -> Preview {
        var start = now
        var notes: [String] = []
        if let after {
            let zone = try schedule.options.zone(local: local)
            let (date, note) = try DateExpression.parse(after, now: now, zone: zone)
            start = date
            notes += [note].compactMap(\.self)
        }
        let (options, _, kindNotes) = try schedule.found(now: start, local: local)
        let zone = try options.zone(local: local)
        let (words, wordNotes) = try options.words(now: start, local: local)
        let resolved = try words.resolve(now: start, zone: zone)
        try resolved.requireFuture(after: start)
        notes += kindNotes + wordNotes + resolved.notes
        if resolved.schedule == .reboot {
            notes.append("'@reboot' fires at each start of the machine; no date can be foretold")
        }
        // Dates are shown in the zone that the schedule follows.
        let shown = resolved.schedule.zone ?? zone
        var dates: [Preview.FireDate] = []
        var date = resolved.firstFireDate
        while let next = date, dates.count < number {
            let isMoved = resolved.schedule.movedByDaylightSaving(next)
            dates.append(.init(date: next, isMoved: isMoved))
            date = resolved.schedule.nextFireDate(after: next)
        }
        return Preview(dates: dates, notes: notes, local: LocalDate(now: start, zone: shown))
    }
}

/// The coming dates of a schedule, as `next` prints them.
struct Preview {
    struct FireDate: Hashable {
        var date: Timestamp
        /// Whether it stands for a local time that a change of the clocks skipped: daylight saving, or another offset.
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
        if dates.isEmpty { return "" }
        var table = Table(columns: [
            .init(title: "LOCAL TIME"), .init(title: "UTC", rank: 2),
            .init(title: "DISTANCE", rank: 1),
        ])
        let utc = LocalDate(now: local.now, zone: .utc)
        table.rows = dates.map { fire in
            let words = [local.distance(fire.date), mark(fire)].compactMap(\.self)
            return [
                .init("\(local.weekday(fire.date)) \(local.full(fire.date))"),
                .init(utc.dayAndTime(fire.date)),
                .init(words.joined(separator: "  ")),
            ]
        }
        return table.text(for: terminal)
    }

    /// How a change of its zone's clocks changed a date; nil if none did.
    private func mark(_ fire: FireDate) -> String? {
        if fire.isMoved { return "moved by a clock change" }
        let time = local.zone.localTime(at: fire.date)
        guard case .repeated(let first, _) = local.zone.resolve(time) else { return nil }
        let clock = local.clock(fire.date).dropFirst(11)
        return "\(fire.date == first ? "first" : "second") \(clock) of two"
    }
}

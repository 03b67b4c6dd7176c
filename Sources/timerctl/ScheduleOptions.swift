// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules

/// The schedule on the command line: exactly one kind, and what belongs to it.
struct ScheduleOptions: ParsableArguments {
    // `.unconditional`: "--in -5s" is a duration to be refused with its reason, not a missing one.
    @Option(
        name: .customLong("in"),
        parsing: .unconditional,
        help: ArgumentHelp("Once, that long from now: 30m, '1h 30min'.", valueName: "duration")
    )
    var delay: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Once, then: '2026-12-01 09:00', 'tomorrow 09:00'.", valueName: "date")
    )
    var at: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Again and again, that far apart: 5s, 250ms.", valueName: "duration")
    )
    var every: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The first date of --every; without it, now + one interval.",
            valueName: "date"
        )
    )
    var from: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("A cron expression: '0 9 * * mon-fri'.", valueName: "expression")
    )
    var cron: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "A calendar expression of systemd.time(7): 'Mon *-*-* 09:00'.",
            valueName: "expression"
        )
    )
    var calendar: String?

    @Option(
        help: ArgumentHelp("The zone of dates and expressions; default: yours.", valueName: "zone")
    )
    var tz: String?

    /// Checks that there is one kind of schedule, and nothing that belongs to another.
    ///
    /// `bare` is a schedule whose kind is still to be found out, for commands that take one. Not
    /// `validate()`, which would speak before a mistyped option of the command is found.
    func check(bare: String? = nil) throws {
        let kinds = [
            ("--in", delay), ("--at", at), ("--every", every), ("--cron", cron),
            ("--calendar", calendar),
        ]
        var given = kinds.filter { $0.1 != nil }.map(\.0)
        if let bare { given.append("'\(bare)'") }
        guard given.count == 1 else {
            throw ValidationError(
                given.isEmpty
                    ? "no schedule; give one of \(kinds.map(\.0).joined(separator: ", "))"
                    : "\(given.joined(separator: " and ")) exclude each other"
            )
        }
        if bare != nil { return }
        if from != nil, every == nil { throw ValidationError("--from belongs to --every") }
        if tz != nil, delay != nil || every != nil && from == nil {
            throw ValidationError(
                "--tz belongs to --at, --from, --cron and --calendar; a length of time has no zone"
            )
        }
    }

    /// The zone of the words: `--tz`, else `local`.
    func zone(local: Zone) throws(ScheduleError) -> Zone {
        guard let tz else { return local }
        return try Zone(named: tz)
    }

    /// The words for the daemon, their dates fixed to instants: it may live in another zone.
    ///
    /// `local` is the user's zone, which expressions are read in too, and keep by name. The notes tell of
    /// local times that do not exist or come twice.
    func words(
        now: Timestamp,
        local: Zone
    ) throws(ScheduleError) -> (words: ScheduleWords, notes: [String]) {
        let zone = try zone(local: local)
        var words = ScheduleWords(in: delay, every: every, cron: cron, calendar: calendar)
        var notes: [String] = []
        if let at {
            let (date, note) = try DateExpression.parse(at, now: now, zone: zone)
            words.at = date.rfc3339
            notes += [note].compactMap(\.self)
        }
        if let from {
            let (date, note) = try DateExpression.parse(from, now: now, zone: zone)
            words.from = date.rfc3339
            notes += [note].compactMap(\.self)
        }
        if cron != nil || calendar != nil { words.tz = tz }
        return (words.namingZone(local), notes)
    }
}

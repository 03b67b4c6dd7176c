// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules

/// A schedule on the command line, by an option or bare; the kind of a bare one is guessed.
struct ScheduleArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "A schedule of any kind: '0 9 * * 1-5', 'Mon..Fri 09:00', 5s, @daily.",
            valueName: "schedule"
        )
    )
    var words: [String] = []

    @OptionGroup
    var options: ScheduleOptions

    /// The bare schedule; nil when there is none.
    private var bare: String? { words.isEmpty ? nil : words.joined(separator: " ") }

    /// Checks as `ScheduleOptions.check` does.
    func check() throws {
        if bare == nil, options.isMissing {
            throw ValidationError(
                "no schedule; give one, such as '0 9 * * 1-5', 5s or --at 'tomorrow 09:00'"
            )
        }
        try options.check(bare: bare)
    }

    /// The options, to which the bare schedule was added, and its kind.
    ///
    /// The notes name the kind if the words could be of another.
    ///
    /// - Throws: `ScheduleError` for words that no kind takes.
    func found(
        now: Timestamp,
        local: Zone
    ) throws(ScheduleError) -> (options: ScheduleOptions, kind: ScheduleKind, notes: [String]) {
        var options = options
        guard let bare else { return (options, options.kind, []) }
        let zone = try options.zone(local: local)
        let guess: ScheduleGuess
        do {
            guess = try ScheduleGuess(bare, hasGrid: options.from != nil, now: now, zone: zone)
        } catch {
            guard words.count > 6 else { throw error }
            // So many words most likely come from a "*" without quotes.
            throw ScheduleError(error.code, "\(error.message); quote it, for the shell expands '*'")
        }
        switch guess.kind {
        case .cron: options.cron = bare
        case .calendar: options.calendar = bare
        case .every: options.every = bare
        case .in: options.delay = bare
        case .at: options.at = bare
        }
        if guess.kind == .every, options.tz != nil, options.from == nil {
            throw ScheduleError(.badSchedule, "--tz goes with dates; '\(bare)' has no zone")
        }
        return (options, guess.kind, guess.note.map { [$0] } ?? [])
    }
}

extension ScheduleOptions {
    /// Whether no option gives a schedule.
    var isMissing: Bool { [delay, at, every, cron, calendar].allSatisfy { $0 == nil } }

    /// Which option is given; `check()` has made sure that there is one.
    var kind: ScheduleKind {
        if cron != nil { return .cron }
        if calendar != nil { return .calendar }
        if every != nil { return .every }
        return at != nil ? .at : .in
    }
}

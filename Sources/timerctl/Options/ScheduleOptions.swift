// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// The schedule on the command line: exactly one kind, and what belongs to it.
struct ScheduleOptions: ParsableArguments {
    @Option(.in) var delay: String?
    @Option(.at) var at: String?
    @Option(.every) var every: String?
    @Option(.from) var from: String?
    @Option(.cron) var cron: String?
    @Option(.calendar) var calendar: String?
    @Option(.tz, unset: "yours") var tz: String?

    /// Checks that there is one kind of schedule, and nothing that belongs to another.
    ///
    /// `bare` is a schedule without an option, for commands that take one, and `until` the value of `--until`, which is
    /// a date as well. Not `validate()`, whose error would come before that of a mistyped option.
    func check(bare: String? = nil, until: String? = nil) throws {
        // First: the words that a "*" became are no schedule of another kind.
        if let cron, cron.allSatisfy(\.isWhitespace) {
            throw ValidationError("--cron is '\(cron)', expected five fields, or six, or @daily")
        }
        if let cron, !cron.contains(where: \.isWhitespace), !cron.hasPrefix("@") {
            throw ValidationError(
                "--cron '\(cron)' is one field; put all of them into quotes, for the shell expands '*'"
            )
        }
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
        try checkWords()
        if from != nil, every == nil { throw ValidationError("--from belongs to --every") }
        if tz != nil, until == nil, delay != nil || every != nil && from == nil {
            throw ValidationError(
                "--tz belongs to --at, --from, --until, --cron and --calendar; a length of time has no zone"
            )
        }
    }

    /// Checks that durations and dates can be read, so that a refusal names their option.
    private func checkWords() throws {
        var zone = Zone.local
        try Self.check("--tz", tz) { (text) throws(ScheduleError) in
            zone = try Zone(named: text)
        }
        try Self.check("--in", delay) { (text) throws(ScheduleError) in
            _ = try TimeSpan(parsing: text).validatedDelay(words: text)
        }
        try Self.check("--every", every) { (text) throws(ScheduleError) in
            _ = try TimeSpan(parsing: text).validatedInterval(words: text)
        }
        try Self.check("--from", from) { (text) throws(ScheduleError) in
            _ = try DateExpression.parse(text, now: .now, zone: zone)
        }
        try Self.check("--at", at) { (text) throws(ScheduleError) in
            do throws(ScheduleError) {
                _ = try DateExpression.parse(text, now: .now, zone: zone)
            } catch {
                // What the error would have one try has passed as well: "yesterday".
                // try?: then there is another mistake, and the error tells of it.
                let late = try? DateExpression.parse("\(text) 23:59:59", now: .now, zone: zone)
                guard let late, late.date < .now else { throw error }
                throw ScheduleError(
                    error.code,
                    "'\(text)' has passed; accepted is a date that is to come, such as 'tomorrow 09:00'"
                )
            }
        }
    }

    /// Names the option of `text` where it cannot be read.
    static func check(
        _ option: String,
        _ text: String?,
        _ read: (String) throws(ScheduleError) -> Void
    ) throws {
        guard let text else { return }
        do throws(ScheduleError) {
            try read(text)
        } catch {
            throw ValidationError("\(option): \(error.message)")
        }
    }

    /// Checks that there is one kind of schedule at most, for a command that may leave it as it is.
    func checkOne(until: String?) throws {
        let isStated = [delay, at, every, cron, calendar].contains { $0 != nil }
        if isStated { try check(until: until) }
    }

    /// Checks that `word`, the first of a command that no "--" precedes, is none of the schedule.
    ///
    /// "--at tomorrow 09:00 ls" would run '09:00'.
    func checkEnd(before word: String) throws {
        let readers: [(String?, (String) throws -> Void)] = [
            (at, Self.readDate), (from, Self.readDate),
            (every, { _ = try TimeSpan(parsing: $0) }), (delay, { _ = try TimeSpan(parsing: $0) }),
            (cron, { _ = try CronExpression(parsing: $0, zone: .utc) }),
            (calendar, { _ = try CalendarExpression(parsing: $0, zone: .utc) }),
        ]
        let longer = readers.lazy.compactMap { text, read -> String? in
            guard let text else { return nil }
            let longer = "\(text) \(word)"
            // try?: words that do not go together are what is hoped for.
            return (try? read(longer)).map { longer }
        }.first
        guard let longer else { return }
        throw ValidationError(
            "is the command '\(word)', or is '\(longer)' the schedule? put the schedule into quotes, "
                + "and '--' before the command"
        )
    }

    private static func readDate(_ text: String) throws {
        // "4pm + 3 days" goes on.
        if text.hasSuffix(" +") { return }
        _ = try DateExpression.parse(text, now: .now, zone: .local)
    }

    /// The zone of the words: `--tz`, else `local`.
    func zone(local: Zone) throws(ScheduleError) -> Zone {
        guard let tz else { return local }
        return try Zone(named: tz)
    }

    /// The words for the daemon, their dates fixed to instants, as the daemon may be in another zone.
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
        if let tz, let own = try words.schedule(anchor: now, zone: zone).ownZone, own != tz {
            throw ScheduleError(
                .badSchedule,
                "--calendar names its zone, '\(own)'; --tz is '\(tz)', expected none"
            )
        }
        return (words.namingZone(local), notes)
    }
}

// SPDX-License-Identifier: Apache-2.0

/// A schedule as the user wrote it: the words of the command line, each optional.
///
/// On the wire it is an object with exactly these keys; a missing word has no key, an unknown key
/// is refused.
public struct ScheduleWords: Hashable, Sendable {
    /// A delay, such as "30m": once, that long from now.
    public var `in`: String?
    /// A date: once.
    public var at: String?
    /// An interval, such as "5s".
    public var every: String?
    /// The date an interval's grid starts at.
    public var from: String?
    public var cron: String?
    public var calendar: String?
    /// The zone of the words; the daemon's own when missing.
    public var tz: String?

    public init(
        in delay: String? = nil,
        at: String? = nil,
        every: String? = nil,
        from: String? = nil,
        cron: String? = nil,
        calendar: String? = nil,
        tz: String? = nil
    ) {
        self.in = delay
        self.at = at
        self.every = every
        self.from = from
        self.cron = cron
        self.calendar = calendar
        self.tz = tz
    }
}

/// A schedule fixed to an instant: what adding a job makes of its words.
public struct ResolvedSchedule: Hashable, Sendable {
    public var schedule: Schedule
    public var clock: ScheduleClock
    /// The first fire date; may lie in the past for `at`, is nil for `@reboot` alone.
    public var firstFireDate: Timestamp?
    /// What the user should know, such as a local time that did not exist and what it became.
    public var notes: [String]

    /// Checks that the first fire date has not passed, for callers that do not make up for it.
    ///
    /// - Throws: `neverFires` for a date before `now`.
    public func requireFuture(after now: Timestamp) throws(ScheduleError) {
        guard let firstFireDate, firstFireDate < now else { return }
        throw ScheduleError(
            .neverFires,
            "date '\(firstFireDate)' has passed; now is '\(now)'"
        )
    }
}

extension ScheduleWords {
    /// Checks the words and fixes them to an instant; `zone` is that of words that name none, and is
    /// evaluated only if it is needed.
    ///
    /// - Throws: `badSchedule` for words that do not go together, `neverFires` for a schedule
    ///   without a date after `now` (but for `at`, whose date may have passed), and what each
    ///   word's reader throws.
    public func resolve(
        now: Timestamp,
        zone local: @autoclosure () -> Zone
    ) throws(ScheduleError) -> ResolvedSchedule {
        let (kind, words) = try checkedKind()
        let named = try tz.map { (name) throws(ScheduleError) in try Zone(named: name) }
        func zone() -> Zone { named ?? local() }
        switch kind {
        case .in:
            let delay = try TimeSpan(parsing: words).validatedDelay(words: words)
            return ResolvedSchedule(
                schedule: .once(now + delay),
                clock: .elapsed,
                firstFireDate: now + delay,
                notes: []
            )
        case .at:
            let (date, note) = try DateExpression.parse(words, now: now, zone: zone())
            return ResolvedSchedule(
                schedule: .once(date),
                clock: .wall,
                firstFireDate: date,
                notes: note.map { [$0] } ?? []
            )
        case .every:
            return try resolvedGrid(of: words, now: now, zone: zone())
        case .cron, .calendar:
            let schedule = try schedule(anchor: now, zone: zone())
            return try resolvedRule(schedule, of: kind, words, now: now)
        }
    }

    /// The grid of `every`: from `from` on by the wall clock, or without it from `now` on by elapsed time.
    private func resolvedGrid(
        of words: String,
        now: Timestamp,
        zone: @autoclosure () -> Zone
    ) throws(ScheduleError) -> ResolvedSchedule {
        let interval = try TimeSpan(parsing: words).validatedInterval(words: words)
        guard let from else {
            let grid = IntervalGrid(first: now + interval, interval: interval)
            return ResolvedSchedule(
                schedule: .every(grid),
                clock: .elapsed,
                firstFireDate: grid.first,
                notes: grid.notes(zone())
            )
        }
        let (first, note) = try DateExpression.parse(from, now: now, zone: zone())
        let grid = IntervalGrid(first: first, interval: interval)
        return ResolvedSchedule(
            schedule: .every(grid),
            clock: .wall,
            firstFireDate: grid.nextFireDate(after: now),
            notes: (note.map { [$0] } ?? []) + grid.notes(zone())
        )
    }

    /// The schedule of `cron` or `calendar`, if it has a date after `now` and names no other zone than `tz` does.
    private func resolvedRule(
        _ schedule: Schedule,
        of kind: Kind,
        _ words: String,
        now: Timestamp
    ) throws(ScheduleError) -> ResolvedSchedule {
        // The one of the two that counts less would be dropped without a word.
        if let tz, let own = schedule.ownZone, own != tz {
            throw ScheduleError(
                .badSchedule,
                "calendar '\(words)' names its zone, '\(own)'; 'tz' is '\(tz)', expected none"
            )
        }
        let first = schedule.nextFireDate(after: now)
        if first == nil, schedule != .reboot {
            let reason = schedule.reasonNotToFire(after: now)
            throw ScheduleError(
                .neverFires,
                "\(kind.rawValue) '\(words)' never fires: \(reason)"
            )
        }
        return ResolvedSchedule(schedule: schedule, clock: .wall, firstFireDate: first, notes: [])
    }

    /// The schedule, made again from its stored words.
    ///
    /// `anchor` is a one-shot's date or a grid's first date, and is ignored for cron and calendar; `zone` is
    /// that of words that name none; it is evaluated only if it is needed. `rules`: the zone by the rules that
    /// the job's dates were computed by, whatever zone the words name; nil for the zone as it is now.
    ///
    /// - Throws: what reading the words throws; nothing for words that were resolved before.
    public func schedule(
        anchor: Timestamp,
        zone local: @autoclosure () -> Zone,
        rules: Zone? = nil
    ) throws(ScheduleError) -> Schedule {
        let (kind, words) = try checkedKind()
        switch kind {
        case .in, .at:
            return .once(anchor)
        case .every:
            let interval = try TimeSpan(parsing: words).validatedInterval(words: words)
            return .every(IntervalGrid(first: anchor, interval: interval))
        case .cron:
            if CronExpression.isReboot(words) { return .reboot }
            let zone = try zone(rules, local)
            return .cron(try CronExpression(parsing: words, zone: zone))
        case .calendar:
            let zone = try zone(rules, local)
            return .calendar(try CalendarExpression(parsing: words, zone: zone, rules: rules))
        }
    }

    private func zone(_ rules: Zone?, _ local: () -> Zone) throws(ScheduleError) -> Zone {
        if let rules { return rules }
        guard let tz else { return local() }
        return try Zone(named: tz)
    }

    private enum Kind: String {
        case `in`
        case at
        case every
        case cron
        case calendar
    }

    /// The one word that says what kind of schedule this is.
    private func checkedKind() throws(ScheduleError) -> (kind: Kind, words: String) {
        let all: [(Kind, String?)] = [
            (.in, self.in), (.at, at), (.every, every), (.cron, cron), (.calendar, calendar),
        ]
        let given = all.compactMap { kind, words in words.map { (kind: kind, words: $0) } }
        guard let only = given.first, given.count == 1 else {
            let found = given.map { "'\($0.kind.rawValue)'" }.joined(separator: " and ")
            throw ScheduleError(
                .badSchedule,
                "a schedule is exactly one of 'in', 'at', 'every', 'cron' and 'calendar'; "
                    + (given.isEmpty ? "none is given" : "\(found) are given")
            )
        }
        if from != nil, only.kind != .every {
            throw ScheduleError(
                .badSchedule,
                "'from' belongs to 'every'; '\(only.kind.rawValue)' has no grid"
            )
        }
        if tz != nil, only.kind == .in || only.kind == .every && from == nil {
            throw ScheduleError(
                .badSchedule,
                "'tz' belongs to 'at', 'from', 'cron' and 'calendar'; a length of time has no zone"
            )
        }
        return only
    }
}

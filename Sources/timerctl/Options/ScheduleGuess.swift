// SPDX-License-Identifier: Apache-2.0

import Schedules

/// The kinds of schedules, as their options are called.
enum ScheduleKind: String {
    case cron
    case calendar
    case every
    case `in`
    case at
}

/// The kind of schedule that some words are: the one whose parser accepts them.
struct ScheduleGuess {
    let text: String
    let kind: ScheduleKind
    /// The other kinds that accept them.
    let others: [ScheduleKind]

    /// Finds the kind of `text`; with `hasGrid` it is an interval, which has a first date.
    ///
    /// If several kinds accept it, five numbers are cron rather than seconds, "09:00" is every day, "5s" is
    /// an interval, and a text that begins with "+" or has one date only is a date.
    ///
    /// - Throws: why the kind that the words look like does not accept them.
    init(_ text: String, hasGrid: Bool, now: Timestamp, zone: Zone) throws(ScheduleError) {
        self.text = text
        let taken = Self.kinds(text, now, zone).filter { !hasGrid || $0 == .every }
        if let first = taken.first {
            kind = first
            others = Array(taken.dropFirst())
            return
        }
        if text.allSatisfy(\.isWhitespace) {
            throw ScheduleError(
                .badSchedule,
                "the schedule is empty; try '0 9 * * 1-5', 'Mon..Fri 09:00', 5s or @daily"
            )
        }
        let likely = hasGrid ? .every : Self.likelyKind(text)
        do {
            _ = try Self.read(text, as: likely, now, zone)
        } catch {
            throw ScheduleError(error.code, "\(error.message) (read as --\(likely.rawValue))")
        }
        // Not reached: the likely kind is one of those that were tried.
        kind = likely
        others = []
    }

    /// A note for the user if several kinds accept the words.
    var note: String? {
        if others.isEmpty { return nil }
        let list = others.map { "--\($0.rawValue)" }.joined(separator: " and ")
        return "'\(text)' is read as --\(kind.rawValue); \(list) would take it, too"
    }

    /// The kinds that accept the words, the most likely first.
    private static func kinds(_ text: String, _ now: Timestamp, _ zone: Zone) -> [ScheduleKind] {
        var kinds: [ScheduleKind] = []
        var isDateFirst = text.hasPrefix("+")
        for kind in [ScheduleKind.cron, .calendar, .every, .in, .at] {
            // try?: words that a kind does not accept are not of that kind.
            guard let schedule = try? read(text, as: kind, now, zone) else { continue }
            kinds.append(kind)
            if kind == .calendar, hasOneDate(schedule) { isDateFirst = true }
        }
        if isDateFirst, let index = kinds.firstIndex(of: .at) {
            kinds.insert(kinds.remove(at: index), at: 0)
        }
        return kinds
    }

    private static func read(
        _ text: String,
        as kind: ScheduleKind,
        _ now: Timestamp,
        _ zone: Zone
    ) throws(ScheduleError) -> Schedule {
        var words = ScheduleWords()
        switch kind {
        case .cron: words.cron = text
        case .calendar: words.calendar = text
        case .every: words.every = text
        case .in: return try ScheduleWords(in: text).resolve(now: now, zone: zone).schedule
        case .at: return try ScheduleWords(at: text).resolve(now: now, zone: zone).schedule
        }
        return try words.schedule(anchor: now, zone: zone)
    }

    /// Whether a calendar expression is a date: it has one date only.
    private static func hasOneDate(_ schedule: Schedule) -> Bool {
        guard let first = schedule.nextFireDate(after: .distantPast) else { return false }
        return schedule.nextFireDate(after: first) == nil
    }

    /// The kind that the words look like, if no parser accepts them.
    private static func likelyKind(_ text: String) -> ScheduleKind {
        let words = text.lowercased().split(whereSeparator: \.isWhitespace)
        guard let first = words.first else { return .cron }
        if ["today", "tomorrow", "yesterday", "now"].contains(String(first)) { return .at }
        if first.hasPrefix("+") || first.contains("t") && first.contains(":") { return .at }
        if first.hasPrefix("@") || words.count > 3 { return .cron }
        let isTime = text.contains { ":*~/".contains($0) } || text.contains("..")
        let isDate = first.first?.isNumber == true && first.dropFirst().contains("-")
        return isTime || isDate || first.first?.isLetter == true ? .calendar : .every
    }
}

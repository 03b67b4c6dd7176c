// SPDX-License-Identifier: Apache-2.0

/// What Debian's cron makes of a line, where timerd takes more than cron does.
///
/// Tried with `crontab -n` of cron 3.0pl1-162, and by running it.
enum DebianCron {
    enum Reading: Hashable {
        /// The schedule as cron reads it.
        case schedule(String)
        /// It takes the line, and runs it never.
        case never
        case refused
    }

    private static let words: Set = [
        "@reboot", "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly",
    ]

    /// How cron reads the schedule of a line which timerd accepts.
    static func reading(of entry: Crontab.Entry) -> Reading {
        // A '-' that keeps the line out of the log is cronie's.
        if entry.isUnlogged { return .refused }
        guard !entry.schedule.hasPrefix("@") else {
            return words.contains(entry.schedule) ? .schedule(entry.schedule) : .refused
        }
        // It takes a number, and skips what it does not know behind it, to the next blank.
        let fields = entry.schedule.split(separator: " ").map { $0.prefix { $0 != "#" } }
        guard fields.count == 5 else { return .refused }
        for (index, field) in fields.enumerated() {
            for item in field.split(separator: ",") {
                if item == "?" { return .refused }
                let parts = item.split(separator: "/", maxSplits: 1)
                if parts.count == 2, parts[0] != "*", !parts[0].contains("-") { return .refused }
                // "L", "15W" and "LW" of the days of a month, "5L" of those of a week; a name of these ends with none.
                if index == 2, item.contains(where: \.isLetter) { return .refused }
                if index == 4, item.uppercased().hasSuffix("L") { return .refused }
            }
        }
        return withoutEmptyRanges(fields.map(String.init))
    }

    /// A range that runs backwards, such as "22-4" or "sat-sun", has no number to cron.
    private static func withoutEmptyRanges(_ fields: [String]) -> Reading {
        var fields = fields
        for index in fields.indices {
            let items = fields[index].split(separator: ",")
            let kept = items.filter { !isBackwards($0, index) }
            if kept.count == items.count { continue }
            fields[index] = kept.joined(separator: ",")
            guard kept.isEmpty else { continue }
            // Where both fields of days are restricted, a day has to match one of them: the other decides alone.
            let other = index == 2 ? 4 : 2
            guard index == 2 || index == 4, !fields[other].hasPrefix("*") else { return .never }
            fields[index] = "*"
        }
        return .schedule(fields.joined(separator: " "))
    }

    private static func isBackwards(_ item: Substring, _ index: Int) -> Bool {
        let ends = item.prefix { $0 != "/" }.split(separator: "-")
        guard ends.count == 2, let first = number(ends[0], index), let last = number(ends[1], index)
        else { return false }
        return first > last
    }

    private static func number(_ word: Substring, _ index: Int) -> Int? {
        if let number = Int(word) { return number }
        let names = index == 3 ? months : weekdays
        return names.firstIndex(of: word.lowercased()).map { index == 3 ? $0 + 1 : $0 }
    }

    private static let weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
}

extension Crontab {
    /// Variables by which Debian's cron refuses the whole crontab, or of which its commands have another value.
    var variableNotes: [String] {
        bareLines.map { line, name in
            "line \(line): Debian's cron refuses '\(name)=' without a value, which is \(name)=\"\" to timerd"
        }
            + blankEndedLines.map { line, name in
                "line \(line): Debian's cron leaves out blanks that end the value of \(name), also in quotes; timerd "
                    + "keeps them"
            }
    }
}

extension Crontab.Entry {
    /// Whether it begins with the '-' that asks some crons not to log.
    fileprivate var isUnlogged: Bool {
        text.drop { $0 == " " || $0 == "\t" }.hasPrefix("-")
    }

    /// What cron does with the line that its job does not; nil for nothing.
    var noteOnCron: String? {
        // That it is left out is told already.
        if isUnlogged { return nil }
        return switch DebianCron.reading(of: self) {
        case .schedule(schedule): nil
        case .schedule(let other):
            "line \(line): '\(schedule)' is to Debian's cron '\(other)'; timerd goes by what stands there"
        case .never:
            "line \(line): Debian's cron never runs '\(schedule)', where a range runs backwards; timerd does"
        case .refused: "line \(line): Debian's cron refuses '\(schedule)'; timerd runs it"
        }
    }
}

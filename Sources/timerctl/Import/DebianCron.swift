// SPDX-License-Identifier: Apache-2.0

/// What Debian's cron makes of a line, where timerd takes more than cron does.
///
/// Tried with `crontab -n` of cron 3.0pl1-162.
enum DebianCron {
    private static let words: Set = [
        "@reboot", "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly",
    ]

    /// The schedule as cron reads that of a line which timerd accepts; nil if cron refuses the line.
    static func reading(of entry: Crontab.Entry) -> String? {
        // A '-' that keeps the line out of the log is cronie's.
        let line = entry.text.drop { $0 == " " || $0 == "\t" }
        if line.hasPrefix("-") { return nil }
        guard !entry.schedule.hasPrefix("@") else {
            return words.contains(entry.schedule) ? entry.schedule : nil
        }
        // It takes a number, and skips what it does not know behind it, to the next blank.
        let fields = entry.schedule.split(separator: " ").map { $0.prefix { $0 != "#" } }
        guard fields.count == 5 else { return nil }
        for (index, field) in fields.enumerated() {
            for item in field.split(separator: ",") {
                if item == "?" { return nil }
                let parts = item.split(separator: "/", maxSplits: 1)
                if parts.count == 2, parts[0] != "*", !parts[0].contains("-") { return nil }
                // "L", "15W" and "LW" of the days of a month, "5L" of those of a week; a name of these ends with none.
                if index == 2, item.contains(where: \.isLetter) { return nil }
                if index == 4, item.uppercased().hasSuffix("L") { return nil }
            }
        }
        return fields.joined(separator: " ")
    }
}

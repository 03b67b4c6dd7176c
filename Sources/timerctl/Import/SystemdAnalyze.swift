// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerWords

/// Asks systemd for the dates of a calendar expression.
enum SystemdAnalyze {
    /// The next five dates; nil if systemd is not installed, or does not accept the expression.
    static func dates(of expression: String) -> [Timestamp]? {
        let words = ["systemd-analyze", "calendar", "--iterations=5", "--", expression]
        guard let answer = Spawn.output(of: ShellWords.joined(words) + " 2>/dev/null") else {
            return nil
        }
        let dates = dates(in: answer)
        return dates.isEmpty ? nil : dates
    }

    /// The dates of its answer.
    ///
    /// It has "Next elapse: Mon 2026-11-23 09:00:00 CET" and below it, if the zone is not UTC, "(in UTC): Mon
    /// 2026-11-23 08:00:00 UTC"; then "Iteration #2: ...".
    static func dates(in answer: String) -> [Timestamp] {
        var dates: [Timestamp] = []
        for line in answer.split(separator: "\n") {
            guard let colon = line.firstRange(of: ": "), !line.contains("form: ") else { continue }
            let words = line[colon.upperBound...].split(separator: " ")
            guard words.count == 4, words[3] == "UTC",
                let date = Timestamp(rfc3339: "\(words[1])T\(words[2])Z")
            else { continue }
            dates.append(date)
        }
        return dates
    }
}

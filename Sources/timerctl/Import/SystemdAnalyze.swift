// SPDX-License-Identifier: Apache-2.0

import Glibc
import Schedules
import TimerWords

/// Asks systemd for the dates of a calendar expression.
enum SystemdAnalyze {
    /// The next five dates; nil if systemd is not installed, or does not accept the expression.
    static func dates(of expression: String) -> [Timestamp]? {
        let words = ["systemd-analyze", "calendar", "--iterations=5", "--", expression]
        guard let pipe = popen(ShellWords.joined(words) + " 2>/dev/null", "r") else { return nil }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while case let count = fread(&chunk, 1, chunk.count, pipe), count > 0 {
            bytes += chunk[..<count]
        }
        guard pclose(pipe) == 0 else { return nil }
        let dates = dates(in: String(decoding: bytes, as: UTF8.self))
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

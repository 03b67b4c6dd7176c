// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@Suite("Cron expressions of other programs") struct CronVectorTests {
    @Test(
        "Dates that several engines agree on are ours",
        arguments: VectorTable.rows("cron-utc-consensus")
    )
    func consensus(row: VectorRow) {
        VectorTable.check(row, key: 5, difference: difference(row))
    }

    @Test(
        "Dates of single engines are ours or a named exception",
        arguments: VectorTable.rows("cron-utc-dialects") + VectorTable.rows("cron-tz")
            + VectorTable.rows("cron-dst")
    )
    func dialects(row: VectorRow) {
        VectorTable.check(row, key: 5, difference: difference(row))
    }

    @Test(
        "What every engine refuses is refused",
        arguments: VectorTable.rows("cron-invalid").filter { row in
            (2...4).allSatisfy { row[$0] == "reject" || row[$0] == "n/a" }
        }
    )
    func invalid(row: VectorRow) {
        #expect(throws: ScheduleError.self) { try CronExpression(parsing: row[1], zone: .utc) }
    }

    /// How our dates differ from the row's; nil when they are the same.
    private func difference(_ row: VectorRow) -> String? {
        do {
            let expression = try CronExpression(parsing: row[1], zone: Zone(named: row[2]))
            guard var date = Timestamp(rfc3339: row[3]) else { return "base is no date" }
            if row[4] == "1" { date -= TimeSpan(microseconds: 1) }
            for expected in row[5].split(separator: ";") {
                let next = expression.nextFireDate(after: date)
                if next != Timestamp(rfc3339: expected) {
                    return "'\(next?.rfc3339 ?? "NEVER")' is not '\(expected)'"
                }
                if let next { date = next }
            }
            return nil
        } catch {
            return "refused: \(error)"
        }
    }
}

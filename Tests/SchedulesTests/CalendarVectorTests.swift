// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@Suite("Calendar expressions of systemd") struct CalendarVectorTests {
    @Test(
        "Dates are systemd's, or a named exception",
        arguments: VectorTable.rows("oncalendar-next")
    )
    func next(row: VectorRow) {
        VectorTable.check(row, key: 3, difference: difference(row))
    }

    @Test(
        "The normalised form is systemd's",
        arguments: VectorTable.rows("oncalendar-normalize")
    )
    func normalized(row: VectorRow) throws {
        let expression = try CalendarExpression(parsing: row[0], zone: .utc)
        #expect(expression.normalized == row[1])
        let again = try CalendarExpression(parsing: row[1], zone: .utc)
        #expect(again == expression)
    }

    @Test("What systemd refuses is refused", arguments: VectorTable.rows("oncalendar-invalid"))
    func invalid(row: VectorRow) {
        #expect(throws: ScheduleError.self) { try CalendarExpression(parsing: row[0], zone: .utc) }
    }

    private func difference(_ row: VectorRow) -> String? {
        do {
            // "IST" alone is no POSIX string; the one row that has it names its own zone.
            let posix = row[1].hasPrefix("POSIX:") ? String(row[1].dropFirst(6)) : row[1]
            let zone = try posix == "IST" ? .utc : Zone(named: posix)
            let expression = try CalendarExpression(parsing: row[0], zone: zone)
            guard var date = Timestamp(rfc3339: row[2]) else { return "base is no date" }
            for expected in row[3].split(separator: ";") {
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

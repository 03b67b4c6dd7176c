// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@Suite("Durations and dates of other programs") struct DateVectorTests {
    @Test("Time spans are systemd's", arguments: VectorTable.rows("timespan"))
    func timeSpan(row: VectorRow) {
        VectorTable.check(row, key: 1, difference: spanDifference(row))
    }

    @Test(
        "Dates of systemd-analyze are ours or a named exception",
        arguments: VectorTable.rows("timestamp-systemd")
    )
    func systemd(row: VectorRow) {
        let expected = Int64(row[3]).map(Timestamp.init(microseconds:))
        let difference = dateDifference(row[0], row[1], nowLocal: row[2], expected: expected)
        VectorTable.check(row, key: 3, difference: difference)
    }

    @Test(
        "Dates of GNU date are ours or a named exception",
        arguments: VectorTable.rows("date-gnu")
    )
    func gnu(row: VectorRow) {
        let expected = Double(row[3]).map { seconds in
            Timestamp(microseconds: Int64((seconds * 1e6).rounded(.down)))
        }
        let difference = dateDifference(row[0], row[1], nowLocal: row[2], expected: expected)
        VectorTable.check(row, key: 3, difference: difference)
    }

    @Test(
        "Dates of at are ours or a named exception",
        arguments: VectorTable.rows("at-timespec")
    )
    func at(row: VectorRow) throws {
        let zone = try Zone(named: row[1])
        let now = Timestamp(microseconds: (Int64(row[2]) ?? 0) * 1_000_000)
        // Any refusal counts as the row's INVALID.
        let ours = try? DateExpression.parse(row[0], now: now, zone: zone).date
        let text = ours.map { zone.localTime(at: $0).description } ?? "INVALID"
        let expected = row[3].split(separator: "T").joined(separator: " ")
        VectorTable.check(
            row,
            key: 3,
            difference: text == expected ? nil : "'\(text)' is not '\(expected)'"
        )
    }

    private func spanDifference(_ row: VectorRow) -> String? {
        do {
            let span = try TimeSpan(parsing: row[0])
            if span.microseconds != Int64(row[1]) { return "\(span.microseconds) is not \(row[1])" }
            if span.description != row[2] { return "'\(span)' is not '\(row[2])'" }
            return nil
        } catch {
            return row[1] == "INVALID" ? nil : "refused: \(error)"
        }
    }

    private func dateDifference(
        _ input: String,
        _ zoneName: String,
        nowLocal: String,
        expected: Timestamp?
    ) -> String? {
        do {
            let zone = try Zone(named: zoneName)
            var now = Timestamp(microseconds: 1_700_000_000_000_000)
            if !nowLocal.isEmpty {
                guard let local = Timestamp(rfc3339: nowLocal + "Z") else { return "bad now" }
                now = zone.resolve(LocalTime(microseconds: local.microseconds)).date
            }
            // Any refusal counts as the row's INVALID.
            let ours = try? DateExpression.parse(input, now: now, zone: zone).date
            if ours == expected { return nil }
            return "\(ours?.rfc3339 ?? "INVALID") is not \(expected?.rfc3339 ?? "INVALID")"
        } catch {
            return "\(error)"
        }
    }
}

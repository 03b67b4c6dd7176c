// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// The events of one row of the outbox as text: a JSON array with an array for each event.
///
/// SQLite reads it by `columns` (`Outbox.SQL.events`), whose order is that of `append`. Values that
/// are missing at the end of an event are left out: of a new job most are.
struct OutboxText {
    private var bytes: [UInt8] = []

    init(events: Int) {
        // An event of a new job takes 60 to 90 bytes.
        bytes.reserveCapacity(96 * events)
        bytes.append(UInt8(ascii: "["))
    }

    /// All of it; nothing is appended any more.
    consuming func text() -> String {
        bytes.append(UInt8(ascii: "]"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The columns of `events` in the order in which an event's array has them.
    static let columns = [
        "type", "at_us", "job_id", "revision", "owner_id", "fire_date_us", "reason", "fire_id",
        "run_id", "redelivered", "fired_at_us", "missed", "dates", "last_date_us", "attempt",
        "outcome", "code", "is_on_failure",
    ]

    static let jobPlace = 2
    static let revisionPlace = 3

    mutating func append(_ event: Event) {
        bytes.append(contentsOf: bytes.count > 1 ? ",[".utf8 : "[".utf8)
        var missing = 0
        func comma(_ bytes: inout [UInt8]) {
            for _ in 0..<missing { bytes.append(contentsOf: ",null".utf8) }
            missing = 0
            bytes.append(UInt8(ascii: ","))
        }
        func number(_ value: Int64?, _ bytes: inout [UInt8]) {
            guard let value else {
                missing += 1
                return
            }
            comma(&bytes)
            bytes.appendDecimal(value)
        }
        func word(_ value: String?, _ bytes: inout [UInt8]) {
            guard let value else {
                missing += 1
                return
            }
            comma(&bytes)
            bytes.appendJSON(value)
        }
        bytes.appendJSON(event.type.rawValue)
        number(event.at.microseconds, &bytes)
        number(event.job.rawValue, &bytes)
        number(event.revision, &bytes)
        number(event.ownerID?.rawValue, &bytes)
        number(event.fireDate?.microseconds, &bytes)
        word(event.reason, &bytes)
        number(event.fire?.rawValue, &bytes)
        number(event.run?.rawValue, &bytes)
        number(event.redelivered == true ? 1 : nil, &bytes)
        number(event.firedAt == event.at ? nil : event.firedAt?.microseconds, &bytes)
        number(event.missed.map(Int64.init), &bytes)
        number(event.dates.map(Int64.init), &bytes)
        number(event.through?.microseconds, &bytes)
        number(event.attempt.map(Int64.init), &bytes)
        word(event.outcome?.rawValue, &bytes)
        number((event.status ?? event.signal).map(Int64.init), &bytes)
        number(event.onFailure == true ? 1 : nil, &bytes)
        bytes.append(UInt8(ascii: "]"))
    }
}

extension [UInt8] {
    fileprivate mutating func appendDecimal(_ value: Int64) {
        if value < 0 { append(UInt8(ascii: "-")) }
        // Of 64 bits at most; written from the last digit on.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var start = digits.count
            var rest = value.magnitude
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            append(contentsOf: digits[start...])
        }
    }

    fileprivate mutating func appendJSON(_ text: String) {
        let isPlain = text.utf8.allSatisfy {
            $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
        }
        guard isPlain else { return append(contentsOf: JSONValue.string(text).jsonText.utf8) }
        append(UInt8(ascii: "\""))
        append(contentsOf: text.utf8)
        append(UInt8(ascii: "\""))
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// The events of one row of the outbox as text: a JSON array with an array for each event.
///
/// SQLite reads it by `columns` (`Outbox.SQL.events`), whose order is that of `write`. Values that
/// are missing at the end of an event are left out: of a new job most are.
enum OutboxText {
    /// The columns of `events` in the order in which an event's array has them.
    static let columns = [
        "type", "at_us", "job_id", "revision", "owner_id", "fire_date_us", "reason", "fire_id",
        "run_id", "redelivered", "fired_at_us", "missed", "dates", "last_date_us", "attempt",
        "outcome", "code", "handler", "due_by_us",
    ]

    static let jobPlace = 2
    static let revisionPlace = 3

    static func of(_ events: ArraySlice<Event>) -> String {
        // An event of a new job takes 60 to 90 bytes.
        var writer = JSONWriter(capacity: 96 * events.count)
        writer.array(events) { write($1, to: &$0) }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func write(_ event: Event, to writer: inout JSONWriter) {
        writer.array { writer in
            var missing = 0
            func put<Value>(_ value: Value?, _ write: (inout JSONWriter, Value) -> Void) {
                guard let value else {
                    missing += 1
                    return
                }
                for _ in 0..<missing {
                    writer.comma()
                    writer.writeNull()
                }
                missing = 0
                writer.comma()
                write(&writer, value)
            }
            func number(_ value: Int64?) { put(value) { $0.write($1) } }
            func word(_ value: String?) { put(value) { $0.writeString($1) } }
            word(event.type.rawValue)
            number(event.at.microseconds)
            number(event.job.rawValue)
            number(event.revision)
            number(event.ownerID?.rawValue)
            number(event.fireDate?.microseconds)
            word(event.reason)
            number(event.fire?.rawValue)
            number(event.run?.rawValue)
            number(event.redelivered == true ? 1 : nil)
            number(event.firedAt == event.at ? nil : event.firedAt?.microseconds)
            number(event.storedMissed.map(Int64.init))
            number(event.dates.map(Int64.init))
            number(event.through?.microseconds)
            number(event.attempt.map(Int64.init))
            word(event.storedOutcome)
            number((event.status ?? event.signal).map(Int64.init))
            number(event.handler.map { Int64($0.rawValue) })
            number(event.dueBy?.microseconds)
        }
    }
}

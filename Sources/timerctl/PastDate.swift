// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules

/// A date that has passed, as people say it: "8h" for eight hours ago, "22:00" for the last one, "yesterday",
/// "2026-11-22 03:00".
struct PastDate {
    var date: Timestamp

    /// - Throws: `ValidationError` for what is no date, and for one that is still to come.
    init(_ argument: String, of option: String, now: Timestamp, zone: Zone) throws {
        let accepted =
            "accepted are a duration such as '8h', and a date such as '22:00' or 'yesterday 03:00'"
        // try?: what is no duration may be a date.
        if let span = try? TimeSpan(parsing: argument), span >= .zero {
            date = now - span
            return
        }
        func read(at moment: Timestamp) throws -> Timestamp {
            do throws(ScheduleError) {
                return try DateExpression.parse(argument, now: moment, zone: zone).date
            } catch {
                throw ValidationError("\(option): \(error.message); \(accepted)")
            }
        }
        let soon = try read(at: now)
        // A time of day means the next one; of a day earlier that is the last one.
        date = soon > now ? try read(at: now - .seconds(86_400)) : soon
        guard date <= now else {
            throw ValidationError("\(option) '\(argument)' is still to come; \(accepted)")
        }
    }
}

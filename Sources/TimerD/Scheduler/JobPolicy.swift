// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// The options of a job, parsed and checked.
struct JobPolicy: Hashable, Sendable {
    /// The job ends after this many fires; nil for no such bound.
    var count: Int?
    /// No date after this one fires; wall time.
    var until: Timestamp?
    var tolerance = TimeSpan.zero
    /// The longest delay of a fire, so that jobs of one date do not all fire at once.
    var jitter = TimeSpan.zero
    var misfire = MisfirePolicy()
    /// How its commands are run.
    var run = RunPolicy()

    init() {}

    /// Reads `definition`'s options; dates such as `tomorrow 09:00` are taken from `now` in `zone`.
    init(
        _ definition: JobDefinition,
        now: Timestamp,
        zone: @autoclosure () -> Zone
    ) throws(ControlError) {
        if let count = definition.count {
            guard count >= 1 else {
                throw ControlError(
                    .invalidParams,
                    "parameter 'count' is '\(count)', accepted is 1 and more"
                )
            }
            self.count = count
        }
        if let text = definition.until {
            until = try reading(text) { text throws(ScheduleError) in
                try DateExpression.parse(text, now: now, zone: zone()).date
            }
        }
        if let text = definition.tolerance {
            tolerance = try Self.span(text, parameter: "tolerance")
        }
        if let text = definition.jitter {
            jitter = try Self.span(text, parameter: "jitter")
        }
        run = try RunPolicy(definition)
        misfire.mode = definition.misfire ?? .once
        if let limit = definition.misfireLimit {
            guard 1...10_000 ~= limit else {
                throw ControlError(
                    .invalidParams,
                    "parameter 'misfireLimit' is '\(limit)', accepted is 1 to 10000"
                )
            }
            misfire.limit = limit
        }
        if let text = definition.misfireAfter {
            misfire.after = try Self.span(text, parameter: "misfireAfter")
        }
        if let text = definition.misfireWindow {
            misfire.window = try Self.span(text, parameter: "misfireWindow")
        }
    }

    private static func span(_ text: String, parameter: String) throws(ControlError) -> TimeSpan {
        let span = try reading(text) { text throws(ScheduleError) in try TimeSpan(parsing: text) }
        guard span >= .zero, span <= .longestInterval else {
            throw ControlError(
                .invalidParams,
                "parameter '\(parameter)' is '\(text)', accepted is a duration of 0 to 100 years"
            )
        }
        return span
    }
}

/// Reads `text`; throws a refusal as an error of the control protocol.
func reading<T>(
    _ text: String,
    _ read: (String) throws(ScheduleError) -> T
) throws(ControlError) -> T {
    do {
        return try read(text)
    } catch {
        throw ControlError(.badSchedule, error.message)
    }
}

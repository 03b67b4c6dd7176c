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
    ) throws(OptionRefusal) {
        if let count = definition.count {
            try JobOption.count.check(.integer(count))
            self.count = count
        }
        if let text = definition.until {
            until = try JobOption.until.date(text, now: now, zone: zone())
        }
        if let text = definition.tolerance { tolerance = try JobOption.tolerance.span(text) }
        if let text = definition.jitter { jitter = try JobOption.jitter.span(text) }
        misfire = try MisfirePolicy(definition)
        run = try RunPolicy(definition)
    }
}

extension MisfirePolicy {
    fileprivate init(_ definition: JobDefinition) throws(OptionRefusal) {
        mode = definition.misfire ?? .once
        if let limit = definition.misfireLimit {
            try JobOption.misfireLimit.check(.integer(limit))
            self.limit = limit
        }
        if let text = definition.misfireAfter { after = try JobOption.misfireAfter.span(text) }
        if let text = definition.misfireWindow { window = try JobOption.misfireWindow.span(text) }
    }
}

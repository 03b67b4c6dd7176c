// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// The options of a job, read from the words in which they came.
package struct JobPolicy: Hashable, Sendable {
    /// How many fires the job lives for.
    package var count: Int?
    /// No date after this one fires; wall time.
    package var until: Timestamp?
    /// By how much a fire may be put off, to share a wake-up.
    package var tolerance: TimeSpan { misfire.tolerance }
    /// The longest that a fire is put off, so that jobs of one date spread.
    package var jitter = TimeSpan.zero
    package var misfire = MisfirePolicy()
    /// How many rows of its history are kept; nil for the daemon's number.
    package var keepRuns: Int?
    /// The queue that its fires become tasks of; nil where they are none.
    package var queue: QueuePolicy?
    /// How its commands are run.
    package var run = RunPolicy()
    /// Who is told what of the job; nil where the job says nothing of that.
    package var notices: NoticePolicy?

    package init() {}

    /// Reads `definition`'s options; dates such as `tomorrow 09:00` are taken from `now` in `zone`.
    package init(
        _ definition: JobDefinition,
        now: Timestamp,
        zone: @autoclosure () -> Zone
    ) throws(OptionRefusal) {
        if let count = definition.count {
            try JobOption.count.check(.integer(count))
            self.count = count
        }
        if let text = definition.until {
            until = try JobOption.until.date(text, now: now, zone: zone()).date
        }
        if let text = definition.jitter { jitter = try JobOption.jitter.span(text) }
        if let number = definition.keepRuns {
            try JobOption.keepRuns.check(.integer(number))
            keepRuns = number
        }
        queue = try QueuePolicy(definition)
        misfire = try MisfirePolicy(definition)
        run = try RunPolicy(definition)
        notices = try NoticePolicy(stated: definition)
    }
}

extension MisfirePolicy {
    fileprivate init(_ definition: JobDefinition) throws(OptionRefusal) {
        self.init()
        mode = definition.misfire ?? .once
        if let limit = definition.misfireLimit {
            try JobOption.misfireLimit.check(.integer(limit))
            self.limit = limit
        }
        if let text = definition.tolerance { tolerance = try JobOption.tolerance.span(text) }
        if let text = definition.misfireAfter { after = try JobOption.misfireAfter.span(text) }
        if let text = definition.misfireWindow { window = try JobOption.misfireWindow.span(text) }
    }
}

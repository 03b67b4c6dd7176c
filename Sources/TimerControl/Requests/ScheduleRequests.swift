// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// `schedule.preview`: the coming fire dates of a schedule, without adding a job.
public struct PreviewSchedule: Codable, Hashable, Sendable {
    public var schedule: ScheduleWords
    /// 1 to 1000; default 5.
    public var count: Int?
    /// Dates after this one; nil for now.
    public var after: String?

    public init(schedule: ScheduleWords) { self.schedule = schedule }

    static let fieldNames: Set<String> = ["schedule", "count", "after"]
}

/// `schedule.preview`.
public struct PreviewReply: Codable, Hashable, Sendable {
    public var fireDates: [Timestamp]
    public var notes: [String]?

    public init(fireDates: [Timestamp], notes: [String]? = nil) {
        self.fireDates = fireDates
        self.notes = notes
    }
}

// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// `job.calendar`, what will fire, and `run.calendar`, what became of what was due: counted by stretches of time, in pages.
public struct ReadCalendar: Codable, Hashable, Sendable {
    /// The first instant, at which the first bucket begins.
    public var from: Timestamp
    /// The first instant that is not asked for.
    public var before: Timestamp
    public var bucket: Bucket
    /// The zone of the days; nil for the daemon's own.
    public var tz: String?
    public var tag: String?
    /// Only jobs of this user, by name or uid.
    public var owner: String?
    /// From the page before; of `job.calendar` the last job that was counted, of `run.calendar` the last fire.
    public var cursor: CalendarCursor?

    public init(from: Timestamp, before: Timestamp, bucket: Bucket) {
        (self.from, self.before, self.bucket) = (from, before, bucket)
    }

    /// How long the buckets are.
    public enum Bucket: String, Codable, Hashable, Sendable, CaseIterable {
        /// 3,600 s from `from` on: also where the clock of the zone is changed.
        case hour
        /// Up to the zone's next midnight, or what comes in its place where daylight saving skips it.
        case day
    }

    /// The most buckets of one request: hours of a month, days of two years.
    public static let mostBuckets = 800

    static let fieldNames: Set<String> = [
        "from", "before", "bucket", "tz", "tag", "owner", "cursor",
    ]
}

/// Where a page of a calendar ended; to be given back as it came.
public enum CalendarCursor: Hashable, Sendable {
    /// The jobs up to this one are counted.
    case job(JobID)
    /// What was due before this date is counted, and of this date the fires up to this one.
    case fire(RunCursor)
    /// All fires are counted, and of the dates that passed in a row those that ended up to here.
    case range(RunCursor)
}

extension CalendarCursor: Codable {
    private enum CodingKeys: String, CodingKey { case isRange }

    public init(from decoder: any Decoder) throws {
        // try?: a value that is no integer may be an object; what is neither is refused by it.
        if let id = try? decoder.singleValueContainer().decode(JobID.self) {
            self = .job(id)
        } else {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            let isRange = try container.decodeIfPresent(Bool.self, forKey: .isRange) ?? false
            let cursor = try RunCursor(from: decoder)
            self = isRange ? .range(cursor) : .fire(cursor)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .job(let id):
            var container = encoder.singleValueContainer()
            try container.encode(id)
        case .fire(let cursor): try cursor.encode(to: encoder)
        case .range(let cursor):
            try cursor.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(true, forKey: .isRange)
        }
    }
}

/// `job.dates`: the dates to come of each job within a stretch of time, in pages by growing id.
public struct ReadDates: Codable, Hashable, Sendable {
    public var from: Timestamp
    /// The first instant that is not asked for.
    public var before: Timestamp
    public var tag: String?
    /// Only jobs of this user, by name or uid.
    public var owner: String?
    /// How many dates of each job are told, 1 to 100, default 10; the others are counted.
    public var each: Int?
    /// How many jobs, 1 to 1000; default 100.
    public var limit: Int?
    /// From the page before.
    public var cursor: JobID?

    public init(from: Timestamp, before: Timestamp) { (self.from, self.before) = (from, before) }

    public static let mostEach = 100

    static let fieldNames: Set<String> = [
        "from", "before", "tag", "owner", "each", "limit", "cursor",
    ]
}

extension Parameters {
    func calendar(of kind: Request.Method) throws(ControlError) -> ReadCalendar {
        let request = try decoded(ReadCalendar.self, fields: ReadCalendar.fieldNames)
        try checkOrder(request.from, request.before)
        switch (kind, request.cursor) {
        case (.jobCalendar, .fire?), (.jobCalendar, .range?):
            throw ControlError(
                .invalidParams,
                "parameter 'cursor' is one of 'run.calendar', expected one of 'job.calendar'"
            )
        case (.runCalendar, .job?):
            throw ControlError(
                .invalidParams,
                "parameter 'cursor' is one of 'job.calendar', expected one of 'run.calendar'"
            )
        default: return request
        }
    }

    func dates() throws(ControlError) -> ReadDates {
        let request = try decoded(ReadDates.self, fields: ReadDates.fieldNames)
        try checkOrder(request.from, request.before)
        if let each = request.each { try checkRange(each, 1...ReadDates.mostEach, "each") }
        if let limit = request.limit { try checkRange(limit, 1...Limits.page, "limit") }
        return request
    }

    private func checkOrder(_ from: Timestamp, _ before: Timestamp) throws(ControlError) {
        guard from < before else {
            throw ControlError(
                .invalidParams,
                "parameter 'before' is \(before.rfc3339), expected a date after 'from', \(from.rfc3339)"
            )
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// `job.calendar`: how many dates of jobs lie in each bucket; those without any are left out.
///
/// A bucket may be in several pages: what they say of it is to be added up.
public struct CalendarReply: Codable, Hashable, Sendable {
    public var buckets: [Bucket]
    /// Nil on the last page.
    public var cursor: CalendarCursor?

    public init(buckets: [Bucket], cursor: CalendarCursor?) {
        (self.buckets, self.cursor) = (buckets, cursor)
    }

    public struct Bucket: Codable, Hashable, Sendable {
        public var from: Timestamp
        public var count: Int

        public init(from: Timestamp, count: Int) { (self.from, self.count) = (from, count) }
    }
}

/// `run.calendar`: what became of what was due in each bucket; those without anything are left out.
///
/// A bucket may be in several pages: what they say of it is to be added up.
public struct RunCalendarReply: Codable, Hashable, Sendable {
    public var buckets: [Bucket]
    /// Nil on the last page.
    public var cursor: CalendarCursor?

    public init(buckets: [Bucket], cursor: CalendarCursor?) {
        (self.buckets, self.cursor) = (buckets, cursor)
    }

    public struct Bucket: Codable, Hashable, Sendable {
        public var from: Timestamp
        public var counts: DueCounts

        public init(from: Timestamp, counts: DueCounts) {
            (self.from, self.counts) = (from, counts)
        }

        private enum CodingKeys: String, CodingKey { case from }

        public init(from decoder: any Decoder) throws {
            from = try decoder.container(keyedBy: CodingKeys.self).decode(
                Timestamp.self,
                forKey: .from
            )
            counts = try DueCounts(from: decoder)
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(from, forKey: .from)
            try counts.encode(to: encoder)
        }
    }
}

/// What became of dates that have come; on the wire without what is 0.
public struct DueCounts: Hashable, Sendable {
    /// Fired without a command, or its last attempt ended well.
    public var succeeded = 0
    /// The last attempt failed, or could not be started.
    public var failed = 0
    /// Nobody could fire it: the daemon was away, overloaded, or the clock was set over it.
    public var missed = 0
    /// Somebody, or a rule of the job, decided that it does not fire.
    public var skipped = 0
    /// It runs, waits, or is a task that is not over.
    public var open = 0

    public init() {}

    public static func += (left: inout Self, right: Self) {
        left.succeeded += right.succeeded
        left.failed += right.failed
        left.missed += right.missed
        left.skipped += right.skipped
        left.open += right.open
    }
}

extension DueCounts: Codable {
    private enum CodingKeys: String, CodingKey {
        case succeeded, failed, missed, skipped, open
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func count(_ key: CodingKeys) throws -> Int {
            try container.decodeIfPresent(Int.self, forKey: key) ?? 0
        }
        succeeded = try count(.succeeded)
        failed = try count(.failed)
        missed = try count(.missed)
        skipped = try count(.skipped)
        open = try count(.open)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        func encode(_ count: Int, _ key: CodingKeys) throws {
            if count != 0 { try container.encode(count, forKey: key) }
        }
        try encode(succeeded, .succeeded)
        try encode(failed, .failed)
        try encode(missed, .missed)
        try encode(skipped, .skipped)
        try encode(open, .open)
    }
}

/// `job.dates`: the jobs that have dates to come in a stretch of time.
public struct DatesReply: Codable, Hashable, Sendable {
    public var jobs: [JobDates]
    /// Nil on the last page.
    public var cursor: JobID?

    public init(jobs: [JobDates], cursor: JobID?) { (self.jobs, self.cursor) = (jobs, cursor) }

    public struct JobDates: Codable, Hashable, Sendable {
        public var job: JobID
        public var name: String?
        /// The first of them.
        public var dates: [Timestamp]
        /// How many there are.
        public var count: Int

        public init(job: JobID, name: String?, dates: [Timestamp], count: Int) {
            (self.job, self.name, self.dates, self.count) = (job, name, dates, count)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// What somebody is to be told and was not yet, as the daemon reports it.
public struct Notice: Codable, Hashable, Sendable {
    public var id: NoticeID
    public var job: JobID
    public var name: String?
    /// Whose job it is.
    public var owner: String
    /// `failed`, `missed`, `skipped`, `late`, `recovered`, `succeeded`, or `ping`.
    public var reason: String
    /// Where it goes; of a URL the host alone.
    public var place: String
    public var addedAt: Timestamp
    /// When it is tried next; of one that is being tried, when that is if nothing more is heard of it.
    public var nextTry: Timestamp
    /// True while it is being tried; else nil.
    public var trying: Bool?
    /// How often it was tried.
    public var attempts: Int
    /// Why the last try failed; nil before.
    public var error: String?
    /// How many notices a summary stands for; nil for one that tells of one thing.
    public var held: Int?
    public var fire: FireID?
    public var run: RunID?

    public init(
        id: NoticeID,
        job: JobID,
        owner: String,
        reason: String,
        place: String,
        addedAt: Timestamp,
        nextTry: Timestamp,
        attempts: Int
    ) {
        (self.id, self.job, self.owner) = (id, job, owner)
        (self.reason, self.place) = (reason, place)
        (self.addedAt, self.nextTry, self.attempts) = (addedAt, nextTry, attempts)
    }
}

/// `notice.list`.
public struct NoticesReply: Codable, Hashable, Sendable {
    public var notices: [Notice]
    /// Nil on the last page.
    public var cursor: NoticeID?

    public init(notices: [Notice], cursor: NoticeID? = nil) {
        (self.notices, self.cursor) = (notices, cursor)
    }
}

/// `notice.list`: what somebody is to be told and was not yet, the oldest first.
public struct ListNotices: Codable, Hashable, Sendable {
    /// 1 to 1000; default 100.
    public var limit: Int?
    /// From the answer before.
    public var cursor: NoticeID?

    public init(limit: Int? = nil, cursor: NoticeID? = nil) {
        (self.limit, self.cursor) = (limit, cursor)
    }

    static let fieldNames: Set<String> = ["limit", "cursor"]
}

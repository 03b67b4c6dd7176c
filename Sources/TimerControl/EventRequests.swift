// SPDX-License-Identifier: Apache-2.0

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

/// `events.subscribe`: this connection gets the stored events after `since`, then new ones.
public struct Subscribe: Codable, Hashable, Sendable {
    /// The last `seq` already seen; 0 for all that are kept; nil for new ones alone.
    public var since: Int64?
    /// Only of these types; nil for all.
    public var types: [Event.Kind]?
    /// Only of these jobs; nil for all.
    public var jobs: [JobID]?

    public init() {}

    static let fieldNames: Set<String> = ["since", "types", "jobs"]
}

// SPDX-License-Identifier: Apache-2.0

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

/// `events.subscribe`; the events follow as notifications named `event`.
public struct SubscriptionReply: Codable, Hashable, Sendable {
    /// The newest sequence number at this moment.
    public var seq: Int64

    public init(seq: Int64) { self.seq = seq }
}

// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Reads a page of kept events with numbers above `after`, in their order; those of `owner` alone
/// unless it is nil.
///
/// Everything that was published before the call is durable before the answer is read, so that the
/// last page holds all of it; where it cannot be made durable, this throws.
typealias EventSource =
    @Sendable (_ after: Int64, _ owner: Owner?, _ limit: EventPage.Limit) async throws -> EventPage

/// One answer of an `EventSource`.
struct EventPage: Sendable {
    var events: [Event]
    /// Whether there was no other event when it was read.
    var isLast: Bool
    /// The highest number that retention has removed an event of, of those that were asked for.
    ///
    /// 0 if it never did. Events of others before it may be kept.
    var prunedThrough: Int64

    /// The most that a page may hold: events, and bytes of them unless it is a single one.
    struct Limit: Sendable {
        var events = 128
        /// As many as may lie in front of a watcher's socket: what has no room there is read again.
        var bytes = Watcher.unsentLimit
    }
}

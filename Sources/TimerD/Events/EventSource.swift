// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Reads a page of kept events with numbers above `after`, in order; only those of `owner` unless it is nil.
///
/// First waits until everything that was published before the call is durable, so that the last page holds
/// all of it; throws if that fails.
typealias EventSource =
    @Sendable (_ after: Int64, _ owner: Owner?, _ limit: EventPage.Limit) async throws -> EventPage

/// One answer of an `EventSource`.
struct EventPage: Sendable {
    var events: [Event]
    /// Whether there was no further event when the page was read.
    var isLast: Bool
    /// The highest number of an event that retention has removed, or that cannot be read, among those that were asked for; 0
    /// for none.
    ///
    /// Events of other owners with lower numbers may still be kept.
    var prunedThrough: Int64

    /// The most events and bytes that a page may hold; a single event may have more bytes.
    struct Limit: Sendable {
        var events = 128
        /// As many as may wait unsent at a watcher's socket: events without room there are read again.
        var bytes = Watcher.unsentLimit
    }
}

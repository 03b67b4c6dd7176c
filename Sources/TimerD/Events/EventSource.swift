// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Reads up to `limit` kept events with numbers above `after`, in their order; those of `owner`
/// alone unless it is nil.
///
/// Everything that was published before the call is durable before the answer is read, so that a
/// page shorter than `limit` holds all of it; where it cannot be made durable, this throws.
typealias EventSource =
    @Sendable (_ after: Int64, _ owner: Owner?, _ limit: Int) async throws -> EventPage

/// One answer of an `EventSource`.
struct EventPage: Sendable {
    var events: [Event]
    /// The highest number that retention has removed an event of; 0 if it never did.
    var prunedThrough: Int64
}

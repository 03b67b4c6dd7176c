// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Carries out one request of one peer.
///
/// Called on the event loop in the order of the requests, and runs there up to its first suspension: that
/// part must not block, and what it hands to other actors keeps the order. Requests that may wait, and
/// previews, are called on the pool instead, in no order.
typealias RequestHandler =
    @Sendable (Request, Peer) async -> Result<any Encodable & Sendable, ControlError>

/// A request whose parameters have been checked, or refused; called as a `RequestHandler` is.
typealias CheckedRequest = @Sendable () async -> Result<any Encodable & Sendable, ControlError>

/// Checks a request that takes long to check; called on any thread.
///
/// What it returns is called on the loop afterwards.
typealias RequestChecker = @Sendable (Request, Peer) -> CheckedRequest

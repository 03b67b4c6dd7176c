// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Carries out one request of one peer.
///
/// Called on the event loop, request by request in the order they came, and runs there up to its
/// first suspension: that part must not block, and what it hands to other actors keeps the order.
typealias RequestHandler =
    @Sendable (Request, Peer) async -> Result<any Encodable & Sendable, ControlError>

// SPDX-License-Identifier: Apache-2.0

/// What carries messages between nodes: each once and in order, or not at all.
package protocol NodeCarrier: AnyObject, Sendable {
    /// Begins to connect, and goes on to until `stop`; `tell` is called from one thread at a time, and must not block.
    func start(_ tell: @escaping @Sendable (CarrierEvent) -> Void) throws

    /// Takes a payload for a node; drops it while there is no connection. Never blocks.
    func send(_ payload: String, to node: String)

    /// Characters that were taken and are not sent yet.
    var unsent: Int { get }

    /// Sends what it has, if that is possible at once, and ends the connection; returns before that is done.
    func stop()
}

package enum CarrierEvent: Equatable, Sendable {
    /// Messages come from now on.
    case connected
    case received(String)
    /// There is less unsent than there was when `send` was called last; told where that was much.
    case drained
    /// Messages may have been lost.
    case broken(reason: String)
}

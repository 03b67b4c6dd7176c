// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// What a browser, or what passes for one, may cost.
enum WebLimits {
    /// Bytes of a form.
    static let body = 1 << 20
    /// Bytes of a request's head.
    static let head = 16 << 10
    /// Connections; what is more waits in the kernel's queue.
    ///
    /// Fewer where there are not enough descriptors.
    static let connections = 4096
    static let streams = 200
    /// How long a whole request may take: the first from the connection's begin, others from their first byte.
    static let request = TimeAmount.seconds(10)
    /// How long a connection may be silent between two requests.
    static let idle = TimeAmount.seconds(60)
    /// How long a browser may take nothing of what it asked for.
    static let stall = TimeAmount.seconds(30)
    /// Bytes that the kernel keeps for a browser of a stream or a file.
    ///
    /// It would take megabytes for one that reads nothing, and that would be noticed late; so would what one takes that reads
    /// slowly.
    static let sendBuffer = SocketOptionValue(64 << 10)
}

// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOCore
import Platform
import SystemPackage

/// Stops accepting for 100 ms when a connection cannot be accepted, most likely for lack of descriptors.
///
/// NIO's own handler for this, `AcceptBackoffHandler`, does not help: a failed accept leaves the
/// socket registered for reading, and the loop spins.
final class AcceptBackoff: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private let logger: Logger
    /// Whether the warning was logged, and nothing has been accepted since.
    private var isInTrouble = false

    init(logger: Logger) { self.logger = logger }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isInTrouble = false
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !isInTrouble {
            // NIO's own words are of the call and its arguments.
            let reason =
                (error as? IOError).map { Errno(rawValue: $0.errnoCode).text } ?? "\(error)"
            logger.warning("cannot accept a connection yet", metadata: ["error": "\(reason)"])
        }
        isInTrouble = true
        let channel = context.channel
        channel.setOption(.autoRead, value: false).assumeIsolated().whenSuccess {
            channel.eventLoop.scheduleTask(in: .milliseconds(100)) {
                channel.setOption(.autoRead, value: true)
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Locks
import NIOCore
import NIOHTTPTypes
import ServiceLifecycle

/// Knows when the browser of a connection has gone, so that nothing is made for nobody.
///
/// A browser closes the connection to give up what it has asked for, as the scripts do with what was asked for before. Who
/// only sends no more cannot be told from it.
final class Departure: ChannelInboundHandler, RemovableChannelHandler, Sendable {
    typealias InboundIn = HTTPRequestPart

    private let state = Locked(State())

    private struct State {
        var isOver = false
        var cancel: (@Sendable () -> Void)?
    }

    /// Does what makes an answer, and cancels it once the browser has gone, or the program is to stop.
    func cancelling<Value: Sendable>(
        _ body: @escaping @Sendable () async -> Value
    ) async -> Value {
        let work = Task { await body() }
        let isOver = state.withLock { state in
            state.cancel = { work.cancel() }
            return state.isOver
        }
        if isOver { work.cancel() }
        // What it has made is not kept with the connection.
        defer { state.withLock { $0.cancel = nil } }
        return await withGracefulShutdownHandler {
            await work.value
        } onGracefulShutdown: {
            work.cancel()
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent { end() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    private func end() {
        let cancel = state.withLock { state in
            state.isOver = true
            return state.cancel
        }
        cancel?()
    }
}

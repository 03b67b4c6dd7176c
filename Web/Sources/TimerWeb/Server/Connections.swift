// SPDX-License-Identifier: Apache-2.0

import Locks
import NIOCore
import NIOHTTPTypes

/// The connections that there are, so that who is not let in keeps nobody out.
///
/// Beyond `most` each new one ends the oldest of those that have shown no key yet.
final class Connections: Sendable {
    private let most: Int
    private let state = Locked(State())

    private struct State {
        var count = 0
        /// Those that were not let in, the oldest first.
        var strangers: [any Channel] = []
        /// Those that go for another, until they are closed.
        var leaving: Set<ObjectIdentifier> = []
    }

    init(most: Int) { self.most = most }

    func open(_ channel: any Channel) {
        let oldest = state.withLock { state -> (any Channel)? in
            state.count += 1
            let isFull = state.count > most && !state.strangers.isEmpty
            let oldest = isFull ? state.strangers.removeFirst() : nil
            state.strangers.append(channel)
            if let oldest { state.leaving.insert(ObjectIdentifier(oldest)) }
            return oldest
        }
        oldest?.close(promise: nil)
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { state in
                state.count -= 1
                state.strangers.removeAll { $0 === channel }
                state.leaving.remove(ObjectIdentifier(channel))
            }
        }
    }

    /// Has a connection stay that has asked as who may; false where it goes for another already.
    ///
    /// What such a one asks for is not to be done: its answer would not arrive.
    func letIn(_ channel: any Channel) -> Bool {
        state.withLock { state in
            state.strangers.removeAll { $0 === channel }
            return !state.leaving.contains(ObjectIdentifier(channel))
        }
    }

    /// Tells of each connection as it begins.
    final class Entry: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = HTTPRequestPart

        private let connections: Connections

        init(_ connections: Connections) { self.connections = connections }

        func handlerAdded(context: ChannelHandlerContext) { connections.open(context.channel) }
    }
}

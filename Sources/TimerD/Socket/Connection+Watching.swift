// SPDX-License-Identifier: Apache-2.0

import NIOCore
import TimerControl

extension Connection {
    /// `line`: the line after whose reply the events are sent.
    func subscribe(
        _ request: Subscribe,
        line: Int
    ) -> Result<any Encodable & Sendable, ControlError> {
        guard let channel = context?.channel else {
            return .failure(ControlError(.stopping, "the connection is closed"))
        }
        let newest = environment.bus.newest
        if watcher != nil {
            return .failure(
                ControlError(.conflict, "this connection has subscribed; open another one")
            )
        }
        // Its cursor may be of the node that leads by now: that is no mistake of the client, which is to ask again.
        if let refusal = environment.passedOver() { return .failure(refusal) }
        if let since = request.since, since > newest {
            return .failure(
                ControlError(
                    .invalidParams,
                    "parameter 'since' is \(since), but the newest event is \(newest)"
                )
            )
        }
        let watcher = Watcher(
            request,
            owner: Caller(peer.owner, daemon: environment.ownUID).onlyOwner,
            newest: newest,
            bus: environment.bus,
            source: environment.source,
            gate: environment.gate,
            user: user,
            channel: channel,
            sink: self
        )
        self.watcher = watcher
        subscriptionLine = line
        environment.bus.add(watcher)
        return .success(SubscriptionReply(seq: newest))
    }

    func endWatching() {
        guard let watcher else { return }
        let load = subscriptionLoad
        // First, as others that begin for it may have this connection cut off.
        (self.watcher, subscriptionLoad) = (nil, nil)
        environment.bus.remove(watcher)
        watcher.end()
        if let load { release(load) }
    }
}

extension Connection: EventSink {
    /// Whether fewer than `Watcher.unsentLimit` bytes wait for the client, and no line is half sent.
    var isWritable: Bool {
        phase == .open && !replies.isInArray && context?.channel.isWritable == true
    }

    func close(with error: ControlError) {
        guard phase == .open, let context else { return }
        endWatching()
        // Others that begin for what it held may have this connection cut off.
        guard phase == .open else { return }
        writeEnd(error)
        closeAfterFlush(context)
    }
}

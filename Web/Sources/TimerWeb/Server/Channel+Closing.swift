// SPDX-License-Identifier: Apache-2.0

import NIOCore

extension Channel {
    /// Closes the connection to a browser that takes nothing, unless that is cancelled.
    ///
    /// What is written waits for it: it would keep that, and its connection, for ever.
    func closingIfStalled() -> Scheduled<Void> {
        eventLoop.scheduleTask(in: WebLimits.stall) { self.close(promise: nil) }
    }
}

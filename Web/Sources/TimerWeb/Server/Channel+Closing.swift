// SPDX-License-Identifier: Apache-2.0

import Locks
import NIOCore

extension Channel {
    /// Closes the connection to a browser that takes nothing, unless that is cancelled.
    ///
    /// What is written waits for it: it would keep that, and its connection, for ever. One that takes a little at a time, as over
    /// a slow line, may take as long as it needs: less is left each time.
    func closingIfStalled() -> RepeatedTask {
        let left = Locked(Int.max)
        // The first look is when what is written has reached the connection.
        return eventLoop.scheduleRepeatedTask(
            initialDelay: .seconds(1),
            delay: WebLimits.stall
        ) { _ in
            // Of one that is closed it fails, and this ends.
            guard let now = try self.syncOptions?.getOption(.bufferedWritableBytes), now > 0 else {
                return
            }
            let isStalled = left.withLock { left in
                defer { left = now }
                return now >= left
            }
            if isStalled { self.close(promise: nil) }
        }
    }
}

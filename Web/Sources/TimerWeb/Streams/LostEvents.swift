// SPDX-License-Identifier: Apache-2.0

import Locks
import TimerControl

/// Events that are no longer kept, until a browser has been told.
final class LostEvents: Sendable {
    private let gap = Locked<EventsLost?>(nil)

    /// Called on a thread of the client.
    func note(_ more: EventsLost) {
        gap.withLock { gap in
            gap = EventsLost(after: gap?.after ?? more.after, through: more.through)
        }
    }

    func take() -> EventsLost? {
        gap.withLock { gap in
            defer { gap = nil }
            return gap
        }
    }
}

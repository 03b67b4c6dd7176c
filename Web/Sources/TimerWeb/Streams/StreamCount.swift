// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The places for streams; each stream has a connection to the daemon.
final class StreamCount: Sendable {
    private let count = Atomic<Int>(0)

    /// Takes a place, to be given back when the stream is over; false where there is none.
    func take() -> Bool {
        if count.add(1, ordering: .relaxed).newValue <= WebLimits.streams { return true }
        giveBack()
        return false
    }

    func giveBack() { count.subtract(1, ordering: .relaxed) }
}

struct TooManyStreams: Error {}

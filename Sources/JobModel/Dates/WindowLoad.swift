// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// What one load of the window is to bring.
package struct WindowLoad: Sendable {
    /// How many places of the window are free.
    package var room: Int
    /// How many jobs of each user are armed.
    package var armed: [OwnerID: Int] = [:]
    /// The users whose part of the window is full while more of theirs waits: this load passes them over.
    package var resting: [OwnerID: Window.Part] = [:]
    /// The users whose last load was cut short for time: this load goes on with them.
    package var filling: Set<OwnerID> = []

    /// How many jobs a load brings at most: other writes wait for it.
    package static let piece = 64

    package init(
        room: Int,
        armed: [OwnerID: Int] = [:],
        resting: [OwnerID: Window.Part] = [:],
        filling: Set<OwnerID> = []
    ) {
        self.room = room
        self.armed = armed
        self.resting = resting
        self.filling = filling
    }
}

/// What a load has left out.
package struct WindowRest: Hashable, Sendable {
    /// The users of whom more is due than was loaded.
    package var parts: [OwnerID: Window.Part] = [:]
    /// The first date of all other jobs that wait, in elapsed time; nil for none.
    package var nextWaiting: Timestamp?

    package init(
        parts: [OwnerID: Window.Part] = [:],
        nextWaiting: Timestamp? = nil
    ) {
        self.parts = parts
        self.nextWaiting = nextWaiting
    }
}

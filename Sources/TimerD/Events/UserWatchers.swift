// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The watchers of one user; on the event loop.
///
/// They get their events from the ring, at the user's own turns: one user's many watchers hold up nobody else's events. Where the ring
/// has lost what they have not got, each reads it from the database.
final class UserWatchers: LoopWork {
    private let user: UInt32
    /// Weak: it has them.
    private weak let bus: EventBus?
    private var watchers: [ObjectIdentifier: Watcher] = [:]
    /// Up to here the events were taken from the ring.
    private var cursor: Int64
    /// The events that are being delivered, and the watchers who have not got them.
    private var events: [SharedEvent] = []
    private var rest: [ObjectIdentifier] = []
    /// Whether events before those are not in the ring any more.
    private var hasMissed = false
    /// Whether a turn is to come.
    private var isWaiting = false

    init(of user: UInt32, on bus: EventBus) {
        (self.user, self.bus) = (user, bus)
        // A watcher that begins takes all that is in the ring.
        cursor = bus.ring.newest
    }

    var isEmpty: Bool { watchers.isEmpty }

    func add(_ watcher: Watcher) { watchers[ObjectIdentifier(watcher)] = watcher }

    /// False if it was none of these.
    func remove(_ watcher: Watcher) -> Bool {
        watchers.removeValue(forKey: ObjectIdentifier(watcher)) != nil
    }

    /// Has what has come to the ring delivered: at once, or at the next turn.
    func wake() {
        if !isWaiting { goOn() }
    }

    func goOn() {
        guard let bus else { return }
        isWaiting = false
        if rest.isEmpty { takeEvents(of: bus) }
        while bus.turns.hasLeft, let id = rest.popLast() {
            guard let watcher = watchers[id] else { continue }
            if hasMissed { watcher.fallBehind() }
            for event in events { watcher.receive(event) }
            watcher.flush()
            if hasMissed { watcher.resume() }
            bus.turns.spend(1 + events.count / EventBus.eventsPerLine)
        }
        if rest.isEmpty { events = [] }
        guard !rest.isEmpty || cursor < bus.ring.newest else { return }
        isWaiting = true
        bus.turns.add(self, at: .events(of: user))
    }

    private func takeEvents(of bus: EventBus) {
        let ring = bus.ring
        guard cursor < ring.newest, bus.turns.hasLeft else { return }
        let next = ring.events(
            after: cursor,
            atMost: EventBus.eventsAtOnce,
            bytes: EventBus.bytesAtOnce
        )
        hasMissed = next == nil
        events = next ?? []
        // Who has missed some goes on behind all that there is.
        cursor = events.last?.event.seq ?? ring.newest
        rest = Array(watchers.keys)
    }
}

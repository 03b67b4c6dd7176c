// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Locks
import NIOCore
import TimerControl

/// Hands each event to those who watch, without keeping whoever publishes it.
final class EventBus: Sendable {
    /// How many recent events are held for the step from the database to what happens now.
    ///
    /// More than lie in front of a socket that takes no more: a watcher that was held up for a moment
    /// goes on from here, or many at once would each read the same events from the database.
    static let ringCapacity = 8192
    /// Events that carry much are fewer: 4 MiB, a few times what lies in front of such a socket.
    static let ringBytes = 4 << 20

    /// What is delivered before the loop serves its sockets again; about a millisecond's work.
    fileprivate static let eventsPerTurn = 64
    fileprivate static let bytesPerTurn = 1 << 18

    /// The loop of the control socket, where watchers live.
    let loop: any EventLoop

    private struct Inbox {
        var newest: Int64
        var watchers = 0
        /// How many numbers watchers asked for in vain.
        var lost: Int64 = 0
        /// What the loop has not taken up, and about how many bytes of it.
        var events: Deque<Event> = []
        var bytes = 0
        /// The newest of those that were dropped, because the loop did not keep up.
        var droppedThrough: Int64?
        /// Whether the loop has been told that there is something.
        var isTold = false

        mutating func append(_ event: Event) {
            events.append(event)
            bytes += event.weight
            guard events.count > EventBus.ringCapacity || bytes > EventBus.ringBytes else { return }
            droppedThrough = event.seq
            events = []
            bytes = 0
        }

        /// As much as may be delivered in one go.
        mutating func take() -> [Event] {
            var taken: [Event] = []
            var weight = 0
            while taken.count < EventBus.eventsPerTurn, weight < EventBus.bytesPerTurn,
                let event = events.popFirst()
            {
                weight += event.weight
                taken.append(event)
            }
            bytes -= weight
            if events.isEmpty { isTold = false }
            return taken
        }
    }

    private struct Watching {
        var ring: EventRing
        var watchers: [ObjectIdentifier: Watcher] = [:]
    }

    private let inbox: Locked<Inbox>
    private let watching: NIOLoopBoundBox<Watching>

    /// No event published from now on has the number `newest` or a lower one, and none ever had a
    /// higher one: after a crash it is the end of the last block of numbers that was begun.
    init(newest: Int64, loop: any EventLoop) {
        self.loop = loop
        inbox = Locked(Inbox(newest: newest))
        watching = NIOLoopBoundBox.makeBoxSendingValue(
            Watching(ring: Self.ring(newest: newest)),
            as: Watching.self,
            eventLoop: loop
        )
    }

    private static func ring(newest: Int64) -> EventRing {
        EventRing(capacity: ringCapacity, byteLimit: ringBytes, newest: newest)
    }

    /// The last number that has been published.
    var newest: Int64 { inbox.withLock { $0.newest } }

    /// How many connections have subscribed.
    var watcherCount: Int { inbox.withLock { $0.watchers } }

    /// How many numbers of events watchers asked for that are no longer kept.
    var lostCount: Int64 { inbox.withLock { $0.lost } }

    /// How many events the loop has not taken up.
    var pendingCount: Int { inbox.withLock { $0.events.count } }

    /// Notes that a watcher asked for what is no longer kept.
    func note(_ lost: EventsLost) {
        inbox.withLock { $0.lost += lost.through - lost.after }
    }

    /// Hands an event to all who watch, soon; costs well under a microsecond when nobody does.
    ///
    /// For the timer thread: waits for no disk and no socket. Numbers have to grow from call to
    /// call.
    func publish(_ event: Event) {
        let isFirst = inbox.withLock { inbox in
            inbox.newest = event.seq
            guard inbox.watchers > 0 else { return false }
            inbox.append(event)
            defer { inbox.isTold = true }
            return !inbox.isTold
        }
        // The loop is woken once for all that comes until it runs.
        if isFirst { loop.execute { self.deliver() } }
    }

    /// The recent events; on the loop.
    var ring: EventRing { watching.value.ring }

    /// Takes in a watcher, which is live or can be; on the loop.
    func add(_ watcher: Watcher) {
        let newest = inbox.withLock { inbox in
            inbox.watchers += 1
            return inbox.newest
        }
        if watching.value.watchers.isEmpty {
            // What nobody watched is not here; from this number on all will be.
            watching.value.ring = Self.ring(newest: newest)
        }
        watching.value.watchers[ObjectIdentifier(watcher)] = watcher
    }

    /// Lets go of a watcher; on the loop.
    func remove(_ watcher: Watcher) {
        guard watching.value.watchers.removeValue(forKey: ObjectIdentifier(watcher)) != nil else {
            return
        }
        let newest = inbox.withLock { inbox in
            inbox.watchers -= 1
            return inbox.newest
        }
        if watching.value.watchers.isEmpty {
            watching.value.ring = Self.ring(newest: newest)
        }
    }

    private func deliver() {
        let (events, dropped, hasMore) = inbox.withLock { inbox in
            defer { inbox.droppedThrough = nil }
            return (inbox.take(), inbox.droppedThrough, !inbox.events.isEmpty)
        }
        // A task that is due would run before the loop looks at any socket.
        if hasMore {
            loop.assumeIsolated().scheduleTask(in: .microseconds(100)) { self.deliver() }
        }
        let watchers = watching.value.watchers.values
        guard !watchers.isEmpty else { return }
        if let dropped {
            // They are in the database, from where each reads them.
            watching.value.ring = Self.ring(newest: dropped)
            for watcher in watchers { watcher.fallBehind() }
        }
        for event in events {
            let shared = SharedEvent(event)
            watching.value.ring.append(shared)
            for watcher in watchers { watcher.receive(shared) }
        }
        for watcher in watchers {
            watcher.flush()
            if dropped != nil { watcher.resume() }
        }
    }
}

extension Event {
    /// About how many bytes it takes.
    fileprivate var weight: Int { 300 + (userInfo?.text.utf8.count ?? 0) }
}

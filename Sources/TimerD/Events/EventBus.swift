// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Locks
import NIOCore
import TimerControl
import Turns

/// Hands each event to the watchers without delaying the publisher.
final class EventBus: Sendable {
    /// How many recent events are kept for watchers that catch up.
    ///
    /// More than a full socket holds unsent: a watcher that was held up for a moment goes on from here.
    /// Otherwise many watchers at once would each read the same events from the database.
    static let ringCapacity = 8192
    /// How many bytes of recent events are kept: 4 MiB, 64 times what a full socket holds unsent.
    static let ringBytes = 4 << 20

    /// How many events are taken together, and delivered to one watcher after the other, and how many bytes of them.
    static let eventsAtOnce = 64
    static let bytesAtOnce = 1 << 18
    /// To write as many events takes about as long as a line with a request does.
    static let eventsPerLine = 16

    /// The loop of the control socket, where watchers live.
    let loop: any EventLoop
    /// The turns of the connections on that loop, and of the events.
    let turns: LoopTurns

    private struct Inbox {
        var newest: Int64
        var watchers = 0
        /// How many numbers watchers were told are no longer kept; some of them no event had.
        var lost: Int64 = 0
        /// The events that the loop has not taken yet, and about how many bytes they have.
        var events: Deque<Event> = []
        var bytes = 0
        /// The number of the newest event that was dropped because the loop did not keep up; nil for none.
        var droppedThrough: Int64?
        /// Whether the loop has been asked to deliver, and has not delivered all.
        var isSignalled = false

        mutating func append(_ event: Event) {
            events.append(event)
            bytes += event.weight
            guard events.count > EventBus.ringCapacity || bytes > EventBus.ringBytes else { return }
            droppedThrough = event.seq
            events = []
            bytes = 0
        }

        /// Takes as many events as are delivered together.
        mutating func take() -> [Event] {
            var taken: [Event] = []
            var weight = 0
            while taken.count < EventBus.eventsAtOnce, weight < EventBus.bytesAtOnce,
                let event = events.popFirst()
            {
                weight += event.weight
                taken.append(event)
            }
            bytes -= weight
            return taken
        }
    }

    private struct Watching {
        var ring: EventRing
        /// Those who watch, by user; none is without a watcher.
        var users: [UInt32: UserWatchers] = [:]
    }

    private let inbox: Locked<Inbox>
    private let watching: NIOLoopBoundBox<Watching>

    /// `newest`: no event so far has a higher number, and every event from now on has one.
    ///
    /// After a crash it is the end of the last block of numbers that was begun.
    init(newest: Int64, loop: any EventLoop) {
        self.loop = loop
        turns = LoopTurns(loop)
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

    /// How many numbers watchers were told are no longer kept; some of them no event had, as a crash leaves out some.
    var lostCount: Int64 { inbox.withLock { $0.lost } }

    /// How many events the loop has not taken yet.
    var pendingCount: Int { inbox.withLock { $0.events.count } }

    /// Notes that a watcher is told of what is no longer kept.
    func note(_ lost: EventsLost) {
        inbox.withLock { $0.lost += lost.through - lost.after }
    }

    /// Hands an event to all watchers, soon; costs well under a microsecond if there are none.
    ///
    /// For the threads of the timers and the store: waits for no disk and no socket. Numbers have to grow from call to call.
    func publish(_ event: Event) {
        let isFirst = inbox.withLock { inbox in
            inbox.newest = event.seq
            guard inbox.watchers > 0 else { return false }
            inbox.append(event)
            defer { inbox.isSignalled = true }
            return !inbox.isSignalled
        }
        // The loop is woken once for all events that come until it runs.
        if isFirst { loop.execute { self.goOn() } }
    }

    /// The recent events; on the loop.
    var ring: EventRing { watching.value.ring }

    /// Adds a watcher; on the loop.
    func add(_ watcher: Watcher) {
        let newest = inbox.withLock { inbox in
            inbox.watchers += 1
            return inbox.newest
        }
        if watching.value.users.isEmpty {
            // The ring holds no events that nobody watched; from this number on it holds all.
            watching.value.ring = Self.ring(newest: newest)
        }
        let uid = watcher.user.uid
        let user = watching.value.users[uid] ?? UserWatchers(of: uid, on: self)
        watching.value.users[uid] = user
        user.add(watcher)
    }

    /// Removes a watcher; on the loop.
    func remove(_ watcher: Watcher) {
        let uid = watcher.user.uid
        guard let user = watching.value.users[uid], user.remove(watcher) else { return }
        let newest = inbox.withLock { inbox in
            inbox.watchers -= 1
            return inbox.newest
        }
        if user.isEmpty { watching.value.users[uid] = nil }
        if watching.value.users.isEmpty {
            watching.value.ring = Self.ring(newest: newest)
        }
    }

    /// Takes the next events into the ring, where all who watch find them.
    private func takeEvents() {
        let (events, dropped) = inbox.withLock { inbox in
            defer { inbox.droppedThrough = nil }
            return (inbox.take(), inbox.droppedThrough)
        }
        turns.spend(1 + events.count / Self.eventsPerLine)
        guard !watching.value.users.isEmpty else { return }
        // The dropped events are in the database; each watcher reads them there.
        if let dropped { watching.value.ring = Self.ring(newest: dropped) }
        for event in events { watching.value.ring.append(SharedEvent(event)) }
    }
}

extension EventBus: LoopWork {
    func goOn() {
        guard turns.hasLeft else { return turns.add(self, at: .newEvents) }
        takeEvents()
        for user in watching.value.users.values { user.wake() }
        let hasMore = inbox.withLock { inbox in
            inbox.isSignalled = !inbox.events.isEmpty
            return inbox.isSignalled
        }
        if hasMore { turns.add(self, at: .newEvents) }
    }
}

extension Event {
    /// About how many bytes it takes.
    fileprivate var weight: Int { 300 + (userInfo?.text.utf8.count ?? 0) }
}

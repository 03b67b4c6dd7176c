// SPDX-License-Identifier: Apache-2.0

import TimerControl

@testable import TimerD

/// A client that watches, and comes back with the last number it has seen: what it is sent is decided by
/// `Subscription`, as for every watcher.
struct CrashWatcher {
    /// What it has got, in order.
    private(set) var received: [Event] = []
    private(set) var seen: Set<Int64> = []
    /// Whether a page is being read.
    var isReading = false
    /// Whether it was told that something is not kept any more.
    private(set) var hasMissed = false
    private(set) var subscription: Subscription?
    private var ring = EventRing(capacity: ringCapacity, newest: 0)
    private(set) var newest: Int64 = 0

    /// Short, so that it falls behind.
    private static let ringCapacity = 6
    static let pageLength = 5

    private var cursor: Int64 { received.last?.seq ?? 0 }
    var isLive: Bool { subscription?.phase == .live }

    mutating func daemonStarts(with state: DaemonState) {
        newest = state.eventSequenceEnd - 1
        ring = EventRing(capacity: Self.ringCapacity, newest: newest)
    }

    /// Its connection is gone, and with it the last `count` events that were on their way.
    mutating func daemonEnds(losing count: Int) {
        subscription = nil
        isReading = false
        for event in received.suffix(count) { seen.remove(event.seq) }
        received.removeLast(min(count, received.count))
    }

    mutating func subscribe(_ dice: inout Dice) {
        var request = Subscribe()
        request.since = cursor
        subscription = Subscription(request, owner: nil, newest: newest)
        subscription?.begin()
    }

    mutating func publish(_ event: Event, _ dice: inout Dice) {
        newest = event.seq
        ring.append(SharedEvent(event))
        guard isLive else { return }
        take(event)
        if dice.isTrue(0.1) { subscription?.fallBehind() }
    }

    mutating func fallBehind() { subscription?.fallBehind() }

    mutating func take(_ event: Event) {
        guard subscription?.take(event) == true else { return }
        received.append(event)
        seen.insert(event.seq)
    }

    /// What it has to do, where it is behind.
    mutating func step() -> Subscription.Step? {
        guard subscription?.phase == .behind, !isReading else { return nil }
        return subscription?.step(ring: ring, newest: newest)
    }

    mutating func take(_ page: EventPage) {
        if page.prunedThrough > cursor { hasMissed = true }
        _ = subscription?.missed(by: page)
        for event in page.events { take(event) }
        subscription?.pageTaken(isLast: page.isLast)
    }
}

/// Where a life's events go.
final class CrashSink: EventPublisher {
    private unowned let simulation: CrashSimulation
    private let life: Int

    init(_ simulation: CrashSimulation, life: Int) {
        self.simulation = simulation
        self.life = life
    }

    func publish(_ event: Event) {
        if !simulation.isDead(life) {
            simulation.published(event)
        } else {
            simulation.publishedByPaused(event, life)
        }
    }
}

extension CrashSimulation {
    /// Lets the watcher get on, as far as it can.
    func pumpWatcher() {
        guard let life, let scheduler = life.scheduler, let store = life.store,
            let step = watcher.step()
        else { return }
        switch step {
        case .goLive(let events): for event in events { watcher.take(event.event) }
        case .read(let after):
            watcher.isReading = true
            let source = store.events(after: scheduler)
            Task(executorPreference: life.pool) { [self] in
                // try?: a watcher whose page cannot be read comes back a little later.
                let page = try? await source(after, nil, .init(events: CrashWatcher.pageLength))
                guard !isDead(life.number), watcher.isReading else { return }
                watcher.isReading = false
                guard let page else { return watcher.fallBehind() }
                watcher.take(page)
                pumpWatcher()
            }
        }
    }
}

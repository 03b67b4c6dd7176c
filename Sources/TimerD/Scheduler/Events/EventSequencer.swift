// SPDX-License-Identifier: Apache-2.0

import Locks
import TimerControl

/// Gives events their numbers and hands them to the watchers, in one order for all threads.
///
/// A number is given and its event published in one step: no watcher sees a higher number first, and whoever
/// comes back after the last number it has seen misses nothing.
final class EventSequencer: Sendable {
    private struct State {
        var numbers: EventNumbers
        /// Whether events wait for the next block of numbers: no other event of their jobs goes ahead of them.
        var isBehind = false
    }

    private let state: Locked<State>
    private let publisher: any EventPublisher
    private let store: WriteQueue
    private let pending: PendingWrites

    init(
        from end: Int64,
        publisher: any EventPublisher,
        store: WriteQueue,
        pending: PendingWrites
    ) {
        state = Locked(State(numbers: EventNumbers(from: end)))
        self.publisher = publisher
        self.store = store
        self.pending = pending
    }

    /// The next number to be given.
    var next: Int64 { state.withLock { $0.numbers.next } }

    /// Whether there are the numbers that one fire may need: its own, and that of its job's end.
    var canNumber: Bool { state.withLock { $0.numbers.rest >= 2 } }

    /// Says whether events wait for numbers, which no event from another thread overtakes then.
    func setBehind(_ isBehind: Bool) { state.withLock { $0.isBehind = isBehind } }

    /// Gives an effect's events their numbers and publishes them; `keep` queues their record, which comes first.
    ///
    /// `keep` is called under a lock, and must not come back here.
    /// - Returns: false where the numbers do not suffice; then nothing was done.
    func publish(_ told: FireEvents, keep: (FireEvents) -> Void) -> Bool {
        state.withLock { state in
            guard state.numbers.rest >= (told.end == nil ? 1 : 2),
                let seq = state.numbers.take()
            else { return false }
            var told = told
            told.fired.seq = seq
            if told.end != nil, let next = state.numbers.take() { told.end?.seq = next }
            keep(told)
            publisher.publish(told.fired)
            if let end = told.end { publisher.publish(end) }
            return true
        }
    }

    /// Numbers the events of a write, has the store keep them, and publishes them.
    ///
    /// - Returns: how many; fewer than all where the numbers are used up.
    func publish(_ events: ArraySlice<OutboxEvent>) -> Int {
        state.withLock { publish(events, &$0) }
    }

    /// Numbers and publishes all events of a write or none, from a thread that is not the scheduler's.
    ///
    /// - Returns: whether they were published; false as well while others wait for numbers.
    func publishAll(_ events: ArraySlice<OutboxEvent>) -> Bool {
        state.withLock { state in
            guard !state.isBehind, state.numbers.rest >= events.count else { return false }
            return publish(events, &state) == events.count
        }
    }

    private func publish(_ events: ArraySlice<OutboxEvent>, _ state: inout State) -> Int {
        var rest = events
        while let first = rest.first {
            // All events of one user that get a number at once go into one record: each record costs the
            // store a step.
            var numbered: [OutboxEvent] = []
            let owner = first.event.owner
            while let next = rest.first, next.event.owner?.uid == owner?.uid,
                let seq = state.numbers.take()
            {
                var next = next
                next.event.seq = seq
                numbered.append(next)
                rest.removeFirst()
            }
            guard !numbered.isEmpty else { break }
            queueRecord(of: numbered, of: owner)
            for next in numbered { publisher.publish(next.event) }
        }
        return events.count - rest.count
    }

    /// The end of the block to be stored now; nil while there is no need.
    func extensionDue() -> Int64? { state.withLock { $0.numbers.extensionDue() } }

    func extended(to end: Int64) { state.withLock { $0.numbers.extended(to: end) } }

    /// Queues the record of events that have their numbers.
    ///
    /// Before they are published: whoever has seen an event and then reads, or asks for a barrier, finds it.
    private func queueRecord(of events: [OutboxEvent], of owner: Owner?) {
        let pending = pending
        let write = owner.map { PendingWrites.Write.record(about: $0.uid) } ?? .common
        pending.begin(write)
        store.postpone { database in
            try EventLog(database).move(events)
        } durable: {
            pending.end(write)
        }
    }
}

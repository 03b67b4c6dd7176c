// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Where events go once they have their number; called on the scheduler's thread, in order.
protocol EventPublisher: Sendable {
    func publish(_ event: Event)
}

extension Scheduler {
    /// Gives `event` its number and hands it to `use`.
    ///
    /// At once; if the numbers are used up, as soon as the store has the end of the next block.
    func number(
        _ event: Event,
        _ use: @escaping @Sendable (isolated Scheduler, Event) -> Void
    ) {
        guard unnumbered.isEmpty, let seq = numbers.take() else {
            unnumbered.append { scheduler in
                var event = event
                guard let seq = scheduler.numbers.take() else { return }
                event.seq = seq
                use(scheduler, event)
            }
            extendNumbers()
            return
        }
        var event = event
        event.seq = seq
        use(self, event)
        extendNumbers()
    }

    /// Numbers the events of a write, has the store keep them, and publishes them to the watchers.
    func publish(_ outboxEvents: [OutboxEvent]) {
        var rest = outboxEvents[...]
        while !rest.isEmpty {
            // All events of one user that get a number at once go into one record: each record costs the
            // store a step.
            var numbered: [OutboxEvent] = []
            let uid = rest.first?.event.owner?.uid
            while let next = rest.first, next.event.owner?.uid == uid, unnumbered.isEmpty,
                let seq = numbers.take()
            {
                var next = next
                next.event.seq = seq
                numbered.append(next)
                rest.removeFirst()
            }
            if numbered.isEmpty, let next = rest.popFirst() {
                number(next.event) { scheduler, event in
                    var next = next
                    next.event = event
                    scheduler.publishNumbered([next])
                }
            } else {
                publishNumbered(numbered)
                extendNumbers()
            }
        }
    }

    /// Publishes events of one user that have their numbers, and has the store keep them.
    private func publishNumbered(_ outboxEvents: [OutboxEvent]) {
        // Queued in the store before it is published: whoever has seen the event and then asks the store
        // finds it.
        let pending = pending
        let owner = outboxEvents.first?.event.owner
        let write = owner.map { PendingWrites.Write.record(about: $0.uid) } ?? .common
        pending.begin(write)
        store.postpone { database in
            try EventLog(database).move(outboxEvents)
        } durable: {
            pending.end(write)
        }
        for next in outboxEvents { events.publish(next.event) }
    }

    /// Whether a new event would get its number at once.
    var canNumber: Bool { unnumbered.isEmpty && numbers.next < numbers.storedEnd }

    /// Calls `timerFired` for the job once there are numbers.
    func awaitNumbers(for job: JobID) {
        unnumberedJobs.insert(job)
        extendNumbers()
    }

    private func extendNumbers() {
        pruneIfManyEvents()
        guard let end = numbers.extensionDue() else { return }
        store.record {
            try DaemonState.write(eventSequenceEnd: end, to: $0)
        } durable: { [self] in
            loop.perform { self.assumeIsolated { $0.numbersExtended(to: end) } }
        }
    }

    private func numbersExtended(to end: Int64) {
        numbers.extended(to: end)
        while !unnumbered.isEmpty, numbers.next < numbers.storedEnd {
            unnumbered.removeFirst()(self)
        }
        let jobs = unnumberedJobs
        unnumberedJobs = []
        for job in jobs.sorted() { timerFired(job) }
    }
}

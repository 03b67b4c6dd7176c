// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Where events go once they have their number; called on the scheduler's thread, in order.
protocol EventPublisher: Sendable {
    func publish(_ event: Event)
}

extension Scheduler {
    /// Gives `event` its number and hands it to `use`, at once: unless the store has not taken the
    /// end of the next block of numbers for long, then as soon as it has.
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

    /// Tells the watchers what a write has changed, and the store that they were told.
    func tell(_ notices: [Notice]) {
        for notice in notices {
            number(notice.event) { scheduler, event in
                // The store first: who asks it for what has been published finds it there.
                let pending = scheduler.pending
                let write =
                    event.owner.map { PendingWrites.Write.record(about: $0.uid) } ?? .common
                pending.begin(write)
                scheduler.store.record(within: .milliseconds(50)) { database in
                    try EventLog(database).insert(event, fromOutbox: notice.outbox)
                } durable: {
                    pending.end(write)
                }
                scheduler.events.publish(event)
            }
        }
    }

    /// Whether an event of now gets its number at once.
    var canNumber: Bool { unnumbered.isEmpty && numbers.next < numbers.storedEnd }

    /// Has the job look again whether it is to fire, once there are numbers.
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

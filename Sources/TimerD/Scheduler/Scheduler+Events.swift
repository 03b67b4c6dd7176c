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
    func tell(_ notices: [Notice]) {
        var rest = notices[...]
        while !rest.isEmpty {
            // All events of one user that get a number at once go into one record: each record costs the
            // store a step.
            var numbered: [Notice] = []
            let uid = rest.first?.event.owner?.uid
            while let notice = rest.first, notice.event.owner?.uid == uid, unnumbered.isEmpty,
                let seq = numbers.take()
            {
                var notice = notice
                notice.event.seq = seq
                numbered.append(notice)
                rest.removeFirst()
            }
            if numbered.isEmpty, let notice = rest.popFirst() {
                number(notice.event) { scheduler, event in
                    scheduler.publish([Notice(outbox: notice.outbox, event: event)])
                }
            } else {
                publish(numbered)
                extendNumbers()
            }
        }
    }

    /// Publishes events of one user that have their numbers, and has the store keep them.
    private func publish(_ notices: [Notice]) {
        // Queued in the store before it is published: whoever has seen the event and then asks the store
        // finds it.
        let pending = pending
        let owner = notices.first?.event.owner
        let write = owner.map { PendingWrites.Write.record(about: $0.uid) } ?? .common
        pending.begin(write)
        store.record(within: .milliseconds(50)) { database in
            let log = EventLog(database)
            for notice in notices { try log.insert(notice.event, fromOutbox: notice.outbox) }
        } durable: {
            pending.end(write)
        }
        for notice in notices { events.publish(notice.event) }
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

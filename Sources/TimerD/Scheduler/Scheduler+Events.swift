// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Where events go once they have their number; called in the order of the numbers, under the sequencer's
/// lock, on the scheduler's thread or the store's.
protocol EventPublisher: Sendable {
    func publish(_ event: Event)
}

extension Scheduler {
    /// Gives an effect's event its number and publishes it; `keep` queues its record.
    ///
    /// At once; if the numbers are used up, as soon as the store has the end of the next block.
    func publish(
        _ event: Event,
        keep: @escaping @Sendable (isolated Scheduler, Event) -> Void
    ) {
        if !unnumbered.isEmpty || !sequencer.publish(event, keep: { keep(self, $0) }) {
            awaitNumbers { scheduler in
                _ = scheduler.sequencer.publish(event) { keep(scheduler, $0) }
            }
        }
        extendNumbers()
        pruneIfManyEvents()
    }

    /// Numbers the events of a write, has the store keep them, and publishes them to the watchers.
    func publish(_ outboxEvents: [OutboxEvent]) {
        let count = unnumbered.isEmpty ? sequencer.publish(outboxEvents[...]) : 0
        for next in outboxEvents.dropFirst(count) {
            awaitNumbers { scheduler in _ = scheduler.sequencer.publish([next][...]) }
        }
        extendNumbers()
        pruneIfManyEvents()
    }

    /// Whether a new event would get its number at once.
    var canNumber: Bool { unnumbered.isEmpty && sequencer.canNumber }

    /// Calls `timerFired` for the job once there are numbers.
    func awaitNumbers(for job: JobID) {
        unnumberedJobs.insert(job)
        extendNumbers()
    }

    private func awaitNumbers(_ publish: @escaping @Sendable (isolated Scheduler) -> Void) {
        unnumbered.append(publish)
        sequencer.setBehind(true)
    }

    /// Has the store keep the end of the next block of numbers, once half of this one is used.
    nonisolated func extendNumbers() {
        guard let end = sequencer.extensionDue() else { return }
        store.record {
            try DaemonState.write(eventSequenceEnd: end, to: $0)
        } durable: { [self] in
            sequencer.extended(to: end)
            loop.perform { self.assumeIsolated { $0.numbersExtended() } }
        }
    }

    private func numbersExtended() {
        while !unnumbered.isEmpty, sequencer.canNumber { unnumbered.removeFirst()(self) }
        sequencer.setBehind(!unnumbered.isEmpty)
        let jobs = unnumberedJobs
        unnumberedJobs = []
        for job in jobs.sorted() { timerFired(job) }
    }
}

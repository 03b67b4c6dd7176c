// SPDX-License-Identifier: Apache-2.0

import DequeModule
import TimerControl

/// Where events go once they have their number; called in the order of the numbers, under the sequencer's
/// lock, on the scheduler's thread or the store's.
protocol EventPublisher: Sendable {
    func publish(_ event: Event)
}

extension Scheduler {
    /// Gives a fire's events their numbers and publishes them; `keep` queues their record.
    ///
    /// At once; if the numbers are used up, as soon as the store has the end of the next block.
    func publish(
        _ told: FireEvents,
        keep: @escaping @Sendable (isolated Scheduler, FireEvents) -> Void
    ) {
        if !unnumbered.isEmpty || !sequencer.publish(told, keep: { keep(self, $0) }) {
            awaitNumbers(for: .effect(told, keep: keep))
        }
        extendNumbers()
        pruneIfManyEvents()
    }

    /// Numbers the events of a write, has the store keep them, and publishes them to the watchers.
    func publish(_ outboxEvents: [OutboxEvent]) {
        let count = unnumbered.isEmpty ? sequencer.publish(outboxEvents[...]) : 0
        // Together: each record of a few of a row's events would write the row again.
        if count < outboxEvents.count {
            awaitNumbers(for: .written(outboxEvents.dropFirst(count)))
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

    private func awaitNumbers(for events: UnnumberedEvents) {
        unnumbered.append(events)
        sequencer.setBehind(true)
    }

    /// Has the store keep the end of the next block of numbers, once half of this one is used.
    nonisolated func extendNumbers() {
        guard let end = sequencer.extensionDue() else { return }
        store.record {
            try DaemonState.write(eventSequenceEnd: end, to: $0)
        } durable: { [self] in
            sequencer.extended(to: end)
            perform { $0.numbersExtended() }
        }
    }

    private func numbersExtended() {
        while let next = unnumbered.first, sequencer.canNumber {
            let rest = publish(next)
            if let rest { unnumbered[0] = rest } else { unnumbered.removeFirst() }
        }
        sequencer.setBehind(!unnumbered.isEmpty)
        let jobs = unnumberedJobs
        unnumberedJobs = []
        for job in jobs.sorted() { timerFired(job) }
        extendNumbers()
    }

    /// Publishes what has waited for numbers, of which there are some; returns what they did not suffice for.
    private func publish(_ events: UnnumberedEvents) -> UnnumberedEvents? {
        switch events {
        case .effect(let told, let keep):
            return sequencer.publish(told) { keep(self, $0) } ? nil : events
        case .written(let written):
            let rest = written.dropFirst(sequencer.publish(written))
            return rest.isEmpty ? nil : .written(rest)
        }
    }
}

/// Events that wait for their numbers, while the store does not take the end of the next block.
enum UnnumberedEvents: Sendable {
    case effect(FireEvents, keep: @Sendable (isolated Scheduler, FireEvents) -> Void)
    /// The events of one write.
    case written(ArraySlice<OutboxEvent>)
}

/// What a fire tells.
extension Scheduler {
    func fireEvent(_ job: StoredJob, _ claim: StoredJob.Claim, at moment: ClockReading)
        -> Event
    {
        var event = Event(of: job, .fireFired, at: moment.wall)
        event.fire = claim.fire
        event.fireDate =
            claim.dateByHand ?? job.wallFireDate(at: moment)
        event.dueBy = job.dueBy(of: claim, at: moment)
        event.firedAt = moment.wall
        event.userInfo = job.definition.userInfo
        event.missed = claim.missed > 0 ? claim.missed : nil
        event.redelivered = claim.isRedelivery ? true : nil
        event.reason = claim.dateByHand == nil ? nil : FireReason.manual.rawValue
        return event
    }

    /// Of the end of a job that its fire has ended.
    func endEvent(
        _ job: StoredJob,
        _ claim: StoredJob.Claim,
        _ reason: StoredJob.EndReason,
        at moment: ClockReading
    ) -> Event {
        var event = Event(of: job, .jobFinished, at: moment.wall)
        event.redelivered = claim.isRedelivery ? true : nil
        event.reason = reason.rawValue
        return event
    }
}

// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Schedules
import TimerControl

extension Scheduler {
    /// Begins to remove what is kept no longer, if it is time to look.
    func pruneIfDue() {
        guard retention.isDue(now: clock.now().elapsed) else { return }
        beginPruning()
    }

    /// Begins to remove what is kept no longer, if enough events have come since the last time.
    func pruneIfManyEvents() {
        guard retention.isDue(nextEvent: sequencer.next) else { return }
        beginPruning()
    }

    /// Notes that something was stored that is removed at `end`, a date of the wall clock.
    func noteKept(until end: Timestamp) {
        retention.isKept(until: clock.now().elapsedDate(end, on: .wall))
        announceLoadDate()
    }

    private func beginPruning() {
        guard isRecovered, !isStopping else { return }
        retention.begin(now: clock.now().elapsed)
        prune()
    }

    /// Removes one piece in a write of its own.
    ///
    /// The next piece is queued once that is durable, behind the writes that came in between.
    private func prune() {
        let moment = clock.now()
        let limits = retention.limits
        let progress = retention.progress
        let removesAged = retention.removesAged(now: moment.elapsed)
        // `seesAll`: the events up to the last stored one count as counted, so none with a lower number may be stored later.
        store.submit(seesAll: true) { database in
            var pruner = Pruner(
                database,
                at: moment,
                limits,
                from: progress,
                removesAged: removesAged
            )
            let step = try pruner.prune()
            return (step, pruner.progress)
        } completion: { [self] result in
            perform { $0.pruned(result) }
        }
    }

    private func pruned(_ result: Result<(Pruner.Step, PruneProgress), any Error>) {
        let moment = clock.now()
        switch result {
        case .failure:
            // The store has reported its trouble.
            retention.failed(now: moment.elapsed)
        case .success((let step, let progress)):
            retention.progress = progress
            switch step {
            case .more:
                if !isStopping { return prune() }
            case .done(let next):
                retention.ended(next: moment.elapsedDate(next, on: .wall), now: moment.elapsed)
                pruneIfDue()
            }
        }
        announceLoadDate()
    }
}

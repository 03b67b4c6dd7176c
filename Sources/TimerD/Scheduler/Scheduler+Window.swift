// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// When the next jobs are loaded, and what a step of the clock does to those that are.
extension Scheduler {
    func loadWindowIfDue() {
        if window.isLoadDue(now: clock.now().elapsed, armed: { armed.count(of: $0) }) {
            loadWindow()
        }
    }

    /// Loads what is due in the coming window; nothing if a load is under way.
    func loadWindow() {
        guard !window.isLoading, isRecovered, !isStopping else { return }
        window.beginLoad(now: clock.now().elapsed)
        let beginWrite = beginsWrite()
        let load = window.load(armed: armed.counts)
        store.submit { database in
            var writer = try beginWrite(database)
            let rest = try writer.loadWindow(load)
            return (writer.outcome, rest)
        } completion: { [self] result in
            loop.perform { self.assumeIsolated { $0.windowLoaded(result) } }
        }
    }

    private func windowLoaded(_ result: Result<(StoreOutcome, WindowRest), any Error>) {
        switch result {
        case .failure:
            // The store has told of its trouble; the load is tried again.
            window.loadFailed(now: clock.now().elapsed)
            announceLoadDate()
        case .success((let outcome, let rest)):
            take(outcome, begin: { $0.window.loaded(rest) })
        }
    }

    /// The next window is due, or may be; or it is time to remove what is kept no longer.
    func windowDue() {
        pruneIfDue()
        tieUntied()
        lookAtHeldIfDue()
        loadWindowIfDue()
        announceLoadDate()
    }

    /// The wall clock was stepped, or the machine slept: every timer is set anew.
    ///
    /// - Returns: the size of the step; zero after sleep, and where two steps cancel out.
    func clockStepped() -> TimeSpan {
        let step = clock.noteStep()
        // Every date may stand for another instant now: this asks for all of them.
        let ids = armed.all.map(\.job.id)
        for id in ids { armed.stopTimer(of: id) }
        // Known by the next daemon, which else would take it for a step of its own time.
        if step.size != .zero { record { try DaemonState.write($0.moment, to: $0.database) } }
        if step.size > .zero { retention.clockWentAhead(now: clock.now().elapsed) }
        // One that was not set knew nothing of where it had stood before, which may lie ahead.
        let wasUnset = clock.now().wall - step.size < .earliestOfClocks
        if step.isBack || step.size > .zero && wasUnset { followClockBack() }
        for id in ids { arm(id) }
        goOnAll()
        turnDate = nil
        scheduleTurn()
        window.clockStepped(now: clock.now().elapsed)
        // What was said stands for another instant now.
        announcedLoadDate = nil
        loadDateChanged(nil)
        windowDue()
        return step.size
    }

    /// Gives the wall jobs back to the store, which knows what comes next of them.
    private func followClockBack() {
        let jobs = armed.all.map(\.job)
            .filter { $0.clock == .wall && !holds.covers($0) }
            .map { job in
                var job = job
                // The store may have claimed more of it since.
                if goneAhead.contains(job.id) { job.ahead = nil }
                return job
            }
        for job in jobs { disarm(job.id) }
        // What was recorded before may arm some of them once more, for a date that is to be taken back.
        holds.holdWallJobs()
        record {
            try $0.followClockBack(disarmed: jobs)
        } durable: { scheduler, _ in
            scheduler.releaseWallJobs()
        } dropped: { scheduler, error in
            // None of them is known here any more: each goes on from what is stored of it.
            for job in jobs { scheduler.hold(job.id, dropped: error) }
            scheduler.releaseWallJobs()
        }
    }

    private func releaseWallJobs() {
        holds.releaseWallJobs()
        for id in armed.all.map(\.job.id) { arm(id) }
        goOnAll()
    }

    /// Calls `body` with the wall clock's date of the next window, whenever that changes; nil while
    /// nothing waits.
    func onLoadDateChange(_ body: @escaping @Sendable (Timestamp?) -> Void) {
        loadDateChanged = body
    }

    /// Says when the next window is due, or the next look at what is kept too long, if that has
    /// changed.
    func announceLoadDate() {
        let moment = clock.now()
        let next = [window.loadDate, retention.date, held.date].compactMap(\.self).min()
        let date = next.map { moment.wallDate($0, on: .elapsed) }
        guard date != announcedLoadDate else { return }
        announcedLoadDate = date
        loadDateChanged(date)
    }
}

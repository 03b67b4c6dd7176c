// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Schedules
import TimerControl

/// When the next jobs are loaded, and what a step of the clock does to the loaded ones.
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
        let makeTransaction = transactionMaker()
        let load = window.load(armed: armed.counts)
        store.submit { database in
            var writer = try makeTransaction(database)
            let rest = try writer.loadWindow(load)
            return (try writer.finish(), rest)
        } completion: { [self] result in
            if case .success = result { terms.beginHandover() }
            handovers.add { $0.windowLoaded(result) }
        }
    }

    private func windowLoaded(_ result: Result<(StoreOutcome, WindowRest), any Error>) {
        switch result {
        case .failure:
            // The store has reported its trouble; the load is tried again.
            window.loadFailed(now: clock.now().elapsed)
            announceLoadDate()
        case .success((let outcome, let rest)):
            take(outcome, begin: { $0.window.loaded(rest) }, finish: { _ in })
        }
    }

    /// The announced date has come, or the clock was stepped: does whatever is due.
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
        // A wall date may be another instant now: all timers are set anew; in order, so that each time is as the other.
        let ids = armed.all.map(\.job.id).sorted()
        for id in ids { armed.stopTimer(of: id) }
        if step.size != .zero { storeStep(of: step.size) }
        if step.size > .zero { retention.clockWentAhead(now: clock.now().elapsed) }
        // A clock that was unset until now may have shown a later date before that: then this step forward is
        // a step back.
        let wasUnset = clock.now().wall - step.size < .earliestOfClocks
        if step.isBack || step.size > .zero && wasUnset { followClockBack() }
        for id in ids { arm(id) }
        goOnAll()
        cancelTurn()
        scheduleTurn()
        lookAtNotices()
        setTaskTimersAnew()
        if step.size > .zero { renewTaskEnds() }
        window.clockStepped(now: clock.now().elapsed)
        // The date that was announced is another instant now.
        loadDate.withdraw()
        windowDue()
        return step.size
    }

    /// Stores where the clocks stand, for the next daemon, which would otherwise take it for a step made while no daemon ran;
    /// and by the clock as it stands what is shown by the wall clock and comes in elapsed time.
    private func storeStep(of size: TimeSpan) {
        // Nobody minds an attempt that is told, and behind a start comes, so little early or late.
        let waiting =
            size.magnitude < NodeView.clockLimit
            ? [] : fires.all.filter { nextAttempt($0) != nil }.map(\.fire.id)
        storeAttempts(of: waiting[...]) { transaction in
            let moment = transaction.moment
            try DaemonState.write(moment, to: transaction.database)
            try transaction.fires.followStep(claimsBy: moment.wallOffset)
        }
    }

    /// Stores by the clock as it stands when those of the fires are tried again that wait for that, a piece at a time: each
    /// user may have thousands.
    ///
    /// `first`: what is stored with the first piece.
    func storeAttempts(
        of waiting: ArraySlice<FireID>,
        with first: @escaping @Sendable (inout JobTransaction) throws -> Void = { _ in }
    ) {
        let attempts = waiting.prefix(Self.attemptPiece).compactMap { id in
            fires[id].flatMap(nextAttempt).map { (fire: id, date: $0) }
        }
        let rest = waiting.dropFirst(Self.attemptPiece)
        record { transaction in
            try first(&transaction)
            for (fire, date) in attempts {
                let next = transaction.moment.wallDate(date, on: .elapsed)
                try transaction.fires.setNextAttempt(of: fire, next)
            }
        } durable: { scheduler, _ in
            guard !rest.isEmpty, !scheduler.isStopping else { return }
            scheduler.storeAttempts(of: rest)
        }
    }

    /// How many next attempts a write stores anew.
    static let attemptPiece = 500

    /// When the fire is tried again, in elapsed time; nil if it does not wait for that.
    private func nextAttempt(_ entry: CommandFires.Entry) -> Timestamp? {
        guard case .waiting(.time(let date)) = entry.state else { return nil }
        return date
    }

    /// Disarms the wall jobs and lets the store find their next dates.
    private func followClockBack() {
        let jobs = armed.all.map(\.job)
            .filter { $0.clock == .wall && !fireLocks.covers($0) }
            .sorted { $0.id < $1.id }
            .map { job in
                var job = job
                // The store may have claimed more of its dates since.
                if goneAhead.contains(job.id) { job.ahead = nil }
                return job
            }
        for job in jobs { disarm(job.id) }
        // The answer to an earlier record may arm one of them once more, for a date that is to be released.
        fireLocks.holdWallJobs()
        clocksBack += 1
        let step = clocksBack
        record {
            try $0.followClockBack(disarmed: jobs)
            // Together with the first piece, which in most databases is all.
            return try $0.followClockBack(after: JobID(rawValue: 0))
        } durable: { scheduler, next in
            scheduler.releaseWallJobs()
            scheduler.followClockBack(of: step, after: next)
        } dropped: { scheduler, error in
            // The jobs are not armed any more: each is held, and goes on from what is stored of it.
            for job in jobs { scheduler.hold(job.id, dropped: error) }
            scheduler.releaseWallJobs()
        }
    }

    /// Has the jobs follow that were added or changed while the clock was ahead, a piece at a time.
    ///
    /// Other writes come in between. A later step begins anew.
    private func followClockBack(of step: Int, after cursor: JobID?) {
        guard let cursor, step == clocksBack, !isStopping else { return }
        record {
            try $0.followClockBack(after: cursor)
        } durable: { scheduler, next in
            scheduler.followClockBack(of: step, after: next)
        }
    }

    private func releaseWallJobs() {
        fireLocks.releaseWallJobs()
        for id in armed.all.map(\.job.id).sorted() { arm(id) }
        goOnAll()
    }

    /// Calls `body` with the wall clock's date at which `windowDue` is to be called, whenever that changes;
    /// nil for none.
    func onLoadDateChange(_ body: @escaping @Sendable (Timestamp?) -> Void) {
        loadDate.changed = body
    }

    /// Announces when `windowDue` is to be called next, if that has changed.
    func announceLoadDate() {
        let moment = clock.now()
        let next = [window.loadDate, retention.date, held.date].compactMap(\.self).min()
        loadDate.announce(next.map { moment.wallDate($0, on: .elapsed) })
    }
}

/// A date of the wall clock that somebody waits for, and how they hear of another one.
struct AnnouncedDate {
    var changed: @Sendable (Timestamp?) -> Void = { _ in }
    /// The one that they know; nil for none.
    private var date: Timestamp?

    /// Tells them of `date`, nil for none, if it is another.
    mutating func announce(_ date: Timestamp?) {
        guard date != self.date else { return }
        self.date = date
        changed(date)
    }

    /// Tells them, in any case, of none.
    mutating func withdraw() {
        date = nil
        changed(nil)
    }
}

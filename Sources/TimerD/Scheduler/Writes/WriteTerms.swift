// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Locks
import Platform
import SQLite
import Schedules
import TimerControl

/// What a write goes by that is queued now: the window, the settings, the rules of zones.
///
/// The scheduler keeps it up to date. It is behind a lock so that a command which concerns no timer passes
/// the scheduler by, and goes from the socket's thread to the store's and back.
final class WriteTerms: Sendable {
    private struct State {
        var terms: TransactionTerms
        var settings: SchedulerSettings
        /// The next load of the window finds every job that waits from this date on.
        ///
        /// Nil while nothing waits, and while a load is under way, which may have been before a write.
        var nextWaiting: Timestamp?
        /// Whether commands may pass the scheduler by: not before it has recovered, nor while it stops.
        var isOpen = false
        /// What a command is told that comes while the scheduler stops; nil as the daemon does.
        var refusal: ControlError?
        /// When a write last stored the clocks, in elapsed time.
        var keptMoment = Timestamp.distantPast
        /// How many outcomes of the store are on their way to the scheduler.
        var handovers = 0
        /// By user, the commands in progress that go by way of the scheduler.
        var detours: [UInt32: Int] = [:]
    }

    private let state: Locked<State>
    private let clock: any WallClock

    init(
        _ window: Window,
        _ settings: SchedulerSettings,
        clock: any WallClock,
        findZone: @escaping ZoneRules.Finder
    ) {
        var terms = TransactionTerms(
            horizons: window.horizons,
            trimPlaces: TrimPlaces(),
            findZone: findZone
        )
        terms.set(settings)
        state = Locked(State(terms: terms, settings: settings))
        self.clock = clock
    }

    // MARK: - From the scheduler

    func set(_ window: Window) {
        state.withLock {
            $0.terms.horizons = window.horizons
            $0.nextWaiting = window.isLoading ? nil : window.nextWaiting
        }
    }

    var historyBound: HistoryBound { state.withLock { $0.settings.historyBound } }

    func set(_ settings: SchedulerSettings) {
        state.withLock {
            $0.settings = settings
            $0.terms.set(settings)
        }
    }

    func set(_ zones: ZoneChanges) { state.withLock { $0.terms.zones = zones } }

    /// Whether commands may pass the scheduler by.
    var isOpen: Bool { state.withLock { $0.isOpen } }

    func setOpen(_ isOpen: Bool) { state.withLock { $0.isOpen = isOpen } }

    func setRefusal(_ refusal: ControlError?) { state.withLock { $0.refusal = refusal } }

    // MARK: - From any thread

    /// What a command is told that comes while the scheduler stops, where the daemon does not.
    var refusal: ControlError? { state.withLock { $0.refusal } }

    /// Notes a command of `user` that goes by way of the scheduler.
    func beginDetour(of user: UInt32) {
        state.withLock { $0.detours.count(1, of: user) }
    }

    /// To be called once that command is answered.
    func endDetour(of user: UInt32) {
        state.withLock { $0.detours.count(-1, of: user) }
    }

    /// How many live jobs a user may have, for a command that may pass the scheduler by now; nil for one
    /// that may not.
    ///
    /// One user's commands are carried out in their order: none overtakes one that goes by way of the
    /// scheduler.
    func jobLimit(ofDirect user: UInt32) -> Int? {
        state.withLock { state in
            guard state.isOpen, state.detours[user] == nil else { return nil }
            return state.settings.maxJobsPerUser
        }
    }

    /// Notes an outcome of the store that is on its way to the scheduler; on the store's thread.
    func beginHandover() { state.withLock { $0.handovers += 1 } }

    /// To be called once the scheduler has taken it over.
    func endHandover() { state.withLock { $0.handovers -= 1 } }

    /// Whether the scheduler need not hear of jobs that have just been stored: none is armed, and the next
    /// load of the window finds them.
    ///
    /// A load that was before the write and has ended since has changed `nextWaiting`; one that has not ended
    /// makes this false. So does an earlier outcome that the scheduler has not taken over yet: the events of a
    /// job are told in their order.
    func isNothingNew(_ jobs: [StoredJob]) -> Bool {
        let now = clock.now()
        return state.withLock { state in
            guard state.handovers == 0 else { return false }
            return jobs.allSatisfy { job in
                guard job.claim == nil else { return false }
                guard job.state == .scheduled, let date = job.dueDate else { return true }
                guard let nextWaiting = state.nextWaiting else { return false }
                return now.elapsedDate(date, on: job.clock) >= nextWaiting
            }
        }
    }

    /// What makes the transaction of a write that is queued now: with the present moment and window.
    ///
    /// At most once a second such a write also stores the clocks. If a machine without a battery for its
    /// clock loses power, elapsed time goes on from there. `unstarted`: see `TransactionTerms`.
    func transactionMaker(unstarted: Set<FireID> = [])
        -> @Sendable (Database) throws -> JobTransaction
    {
        let moment = clock.now()
        let (terms, keepsMoment) = state.withLock { state in
            let keepsMoment = moment.elapsed - state.keptMoment >= .seconds(1)
            if keepsMoment { state.keptMoment = moment.elapsed }
            var terms = state.terms
            terms.unstarted = unstarted
            return (terms, keepsMoment)
        }
        return { database in
            if keepsMoment { try DaemonState.write(moment, to: database) }
            return JobTransaction(database, at: moment, terms)
        }
    }
}

extension TransactionTerms {
    /// Goes by the daemon's settings, where they say something of writes.
    fileprivate mutating func set(_ settings: SchedulerSettings) {
        runsKept = settings.historyBound
        maxBytes = settings.retention.maxBytesPerUser
        maxTasks = settings.maxTasksPerUser
        deadKept = settings.retention.endedJobsMaxAge
        noticeDefaults = settings.notices.defaults
        runDefaults = settings.runDefaults
    }
}

// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Schedules
import TimerControl

/// Commands that concern no timer: they go from the socket's thread to the store's and back.
///
/// A thread that sleeps costs more to wake than such a command costs to carry out.
extension Scheduler {
    /// Adds `jobs`, all or none; returns them once they are stored and armed.
    ///
    /// Its place in the order of the store is taken, or that in the order of the scheduler, before this
    /// suspends. The caller has held the jobs' processes in `targets`, and releases them if this throws.
    nonisolated func add(_ jobs: [NewJob], replace: Bool, caller: Caller) async throws
        -> [StoredJob]
    {
        let now = clock.now()
        guard !replace, let limit = terms.jobLimit(ofDirect: caller.uid),
            jobs.allSatisfy({ $0.isTaskAtOnce(at: now) || $0.waits(beyondWindowAt: now) })
        else {
            return try await detour(of: caller) {
                try await self.addHere(jobs, replace: replace, caller: caller)
            }
        }
        return try await writeDirectly(
            isLong: jobs.writeUnits > Self.longWrite,
            of: caller.uid
        ) { transaction in
            // Root has no limit.
            transaction.asker = caller.owner
            return try transaction.add(jobs, replace: false, limit: caller.uid == 0 ? nil : limit)
        }
    }

    /// Ends jobs that no timer is armed for and nothing of which is in progress.
    ///
    /// Only the store knows whether all are such jobs. So nothing else that the connection asks for is in progress
    /// meanwhile: what comes next would overtake the invalidation that has to begin anew.
    /// - Returns: nil, with nothing done, if one of them is another.
    nonisolated func invalidateIdle(_ jobs: [JobID], caller: Caller) async throws -> ChangedJobs? {
        guard terms.jobLimit(ofDirect: caller.uid) != nil else { return nil }
        return try await writeDirectly(
            isLong: jobs.count > Self.longWrite,
            of: caller.uid
        ) {
            try $0.invalidateIdle(jobs, caller: caller)
        }
    }

    /// Hands out tasks that are ready, where nobody waits for any; nil where somebody does.
    ///
    /// Of a client that is gone by then the connection has them go back, as it does with any that cannot be told.
    nonisolated func reserveReady(_ order: ReserveOrder) async throws -> [QueuedTask]? {
        guard !taskStanding.isAnybodyWaiting, terms.jobLimit(ofDirect: order.owner.uid) != nil
        else { return nil }
        // It is as long as what there is to hand out, a page at most, whatever number it asks for.
        let given = try await writeDirectly(isLong: false, of: order.owner.uid) {
            try $0.reserve([order])
        }
        return given.flatMap(\.tasks)
    }

    /// Carries out what a worker says of several tasks, each by itself, in one write.
    ///
    /// - Throws: for a single one what keeps it from being done.
    nonisolated func tell<Said: Sendable>(
        _ said: [Said],
        isList: Bool,
        fire: @escaping @Sendable (Said) -> FireID,
        caller: Caller,
        _ body: @escaping @Sendable (inout JobTransaction, Said) throws -> TaskOutcome
    ) async throws -> [TaskOutcome] {
        let isLong = said.count > Self.longWrite
        let tellAll: @Sendable (inout JobTransaction) throws -> [TaskOutcome] = { transaction in
            try said.map { one in
                do {
                    return try body(&transaction, one)
                } catch let error as ControlError where isList {
                    return TaskOutcome(fire: fire(one), error: error)
                }
            }
        }
        do {
            guard terms.jobLimit(ofDirect: caller.uid) != nil else {
                return try await detour(of: caller) {
                    try await self.tellHere(isLong: isLong, of: caller.uid, tellAll)
                }
            }
            return try await writeDirectly(isLong: isLong, of: caller.uid, tellAll)
        } catch {
            if error.isStorageTrouble { perform { $0.noteRefusedWord() } }
            throw error
        }
    }

    /// Carries out a change by way of the scheduler; no later one of the same user overtakes it.
    nonisolated func detour<T: Sendable>(
        of caller: Caller,
        _ body: () async throws -> T
    ) async throws -> T {
        terms.beginDetour(of: caller.uid)
        defer { terms.endDetour(of: caller.uid) }
        return try await body()
    }

    /// As `write`, from any thread; the scheduler hears of the outcome only if it has to.
    private nonisolated func writeDirectly<T: Sendable>(
        isLong: Bool,
        of user: UInt32,
        _ body: @escaping @Sendable (inout JobTransaction) throws -> T
    ) async throws -> T {
        let makeTransaction = terms.transactionMaker()
        let write = PendingWrites.Write.command(of: user)
        pending.begin(write)
        return try await withCheckedThrowingContinuation { continuation in
            store.submit(of: user, isLong: isLong) { [terms] database in
                // A stop that began meanwhile has asked for the last number of an event, or is about to.
                guard terms.isOpen else { throw self.stopRefusal }
                var transaction = try makeTransaction(database)
                let value = try body(&transaction)
                return (value, try transaction.finish())
            } completion: { [self] result in
                pending.end(write)
                switch result {
                case .failure(let error): continuation.resume(throwing: error)
                case .success((let value, let outcome)):
                    guard let rest = publishDirectly(outcome) else {
                        return continuation.resume(returning: value)
                    }
                    terms.beginHandover()
                    handovers.add { scheduler in
                        scheduler.take(rest) { _ in continuation.resume(returning: value) }
                    }
                }
            }
        }
    }

    /// Publishes what a write has to tell, if the scheduler has nothing to do about it; on the store's thread.
    ///
    /// - Returns: what is left for the scheduler; nil if nothing is.
    private nonisolated func publishDirectly(_ outcome: StoreOutcome) -> StoreOutcome? {
        // What many jobs tell is told by the scheduler, a slice at each pass of its loop: the records of all of it
        // would otherwise be one commit, for which others wait.
        guard outcome.outboxEvents.count <= 2 * SaidByStore.slice,
            !outcome.isOverfull, outcome.zones == nil, outcome.noticeDate == nil,
            outcome.left.isEmpty, outcome.ended.isEmpty,
            outcome.outboxEvents.allSatisfy({ $0.event.type.isForNoTimer }),
            terms.isNothingNew(outcome.jobs)
        else { return outcome }
        let before = sequencer.next
        var rest = outcome.outboxEvents[...]
        // A slice at a time: a fire that is due meanwhile gets its number in between.
        while !rest.isEmpty, sequencer.publishAll(rest.prefix(SaidByStore.slice)) {
            rest = rest.dropFirst(SaidByStore.slice)
        }
        extendNumbers()
        if rest.isEmpty { publishTasks(of: outcome) }
        // The scheduler looks now and then whether there are too many events.
        if before >> 8 != sequencer.next >> 8 {
            perform { $0.pruneIfManyEvents() }
        }
        guard !rest.isEmpty else { return nil }
        var left = outcome
        left.outboxEvents = Array(rest)
        return left
    }
}

extension Scheduler {
    /// Tells the scheduler of what a write has done to tasks, if that concerns it; nobody's answer waits for it.
    private nonisolated func publishTasks(of outcome: StoreOutcome) {
        taskStanding.countAtOnce(outcome.tasksAtOnce)
        guard taskStanding.concerns(outcome.tasks) else { return }
        perform { $0.take(outcome.tasks) }
    }
}

extension Event.Kind {
    /// Whether a write that tells it may pass the scheduler by: of its own jobs alone it tells a fire or an end so.
    fileprivate var isForNoTimer: Bool {
        switch self {
        case .jobAdded, .jobInvalidated, .fireFired, .jobFinished, .runFinished: true
        default: false
        }
    }
}

extension NewJob {
    /// Whether it becomes a task with its add, and is over with that.
    fileprivate func isTaskAtOnce(at moment: ClockReading) -> Bool {
        guard isTaskOnceDue, definition.paused != true, let first = firstFireDate
        else { return false }
        return first <= moment.reading(of: clock)
    }

    /// Whether nothing of the job is due before the end of a window that is loaded at `moment`, and its life
    /// is tied to nothing.
    fileprivate func waits(beyondWindowAt moment: ClockReading) -> Bool {
        guard !definition.isTied else { return false }
        guard definition.paused != true, let first = firstFireDate else { return true }
        return moment.elapsedDate(first, on: clock) >= moment.elapsed + Window.span
    }
}

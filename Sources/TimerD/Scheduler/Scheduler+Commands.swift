// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Runner
import Schedules
import TimerControl

extension Scheduler {
    /// Adds `jobs`, all or none, by way of this thread: they may be due soon.
    func addHere(_ jobs: [NewJob], replace: Bool, caller: Caller) async throws -> [StoredJob] {
        let named = (replace ? jobs.compactMap(\.definition.name) : []).map(JobSelection.name)
        try hold(named, caller: caller)
        defer { letGo(named, caller: caller) }
        let limit = jobLimit(of: caller)
        let (added, replaced) = try await submitWrite(
            of: caller.uid,
            isLong: jobs.writeUnits > Self.longWrite
                || replace && jobs.contains { $0.definition.mayHaveTasks },
            unstarted: unstarted(named, caller)
        ) { transaction in
            transaction.asker = caller.owner
            let added = try transaction.add(jobs, replace: replace, limit: limit)
            return (added, replace ? transaction.outcome.replaced : [])
        } durable: { scheduler, written in
            scheduler.withdrawRuns(of: written.1)
            // Here, before the store can say anything later of them, such as their end.
            for (new, job) in zip(jobs, written.0) {
                scheduler.tie(job, addedAs: new, by: caller.life)
            }
        }.value()
        if replace {
            await awaitBegins(of: replaced, whereOffered: false)
            await awaitBegins(of: added, whereOffered: true)
        }
        return added
    }

    /// Ends, changes and adds jobs, all or none; returns them once that is stored and armed.
    func apply(_ changes: JobChanges, caller: Caller) async throws -> AppliedChanges {
        try hold([changes.touched], caller: caller)
        defer { letGo([changes.touched], caller: caller) }
        let limit = jobLimit(of: caller)
        let minded = fires.jobs(of: changes.touched, caller: caller)
        let applied = try await submitWrite(
            of: caller.uid,
            isLong: changes.writeUnits > Self.longWrite || changes.mayConcernTasks,
            unstarted: unstarted([changes.touched], caller)
        ) {
            $0.terms.minded = minded
            return try $0.apply(changes, limit: limit, caller: caller)
        } durable: { scheduler, applied in
            scheduler.withdrawRuns(of: applied.ended)
        }.value()
        await awaitBegins(of: applied.ended, whereOffered: false)
        await awaitBegins(of: applied.changed, whereOffered: true)
        return applied
    }

    /// What `apply`, or `add`, would answer, without changing anything; it delays no fire and no write.
    func tryOut(_ changes: JobChanges, caller: Caller) async throws -> AppliedChanges {
        try requireRunning()
        // The trial has to see the changes that the caller asked for before.
        await flush(for: caller)
        let moment = clock.now()
        let trial = DryRun(
            changes: changes,
            limit: jobLimit(of: caller),
            caller: caller,
            unstarted: unstarted(
                [changes.touched] + changes.replaced.map(JobSelection.name),
                caller
            ),
            moment: moment,
            horizon: window.horizon
        )
        let outcome = try await dryRuns.run(trial)
        if let passedOver { throw passedOver }
        return outcome
    }

    /// A write of more jobs than this, or as many rows, is long: earlier writes are committed before it.
    static let longWrite = 100

    /// Changes what `selection` names, all or none; returns the jobs as they stand.
    ///
    /// No fire of them begins from here to the answer; after an invalidation, none ever. With `kill` that begins to end
    /// their runs as well.
    func change(
        _ selection: JobSelection,
        _ change: JobChange,
        caller: Caller,
        kill: Bool = false
    ) async throws -> ChangedJobs {
        try hold([selection], caller: caller)
        defer { letGo([selection], caller: caller) }
        let isEnd = if case .invalidate = change { true } else { false }
        let busy = isEnd ? jobsInProgress(selection, caller: caller) : []
        let minded = isEnd ? fires.jobs(of: selection, caller: caller) : []
        let ending = kill ? runsInProgress(selection, caller: caller) : [:]
        let changed = try await submitWrite(
            of: caller.uid,
            isLong: selection.isLong,
            unstarted: unstarted([selection], caller)
        ) {
            $0.terms.minded = minded
            return try $0.change(
                selection,
                change,
                caller: caller,
                kill: kill,
                busy: busy,
                ending: ending
            )
        } durable: { scheduler, changed in
            // Here, before a later request can have them live again: the runs that follow that are not meant.
            guard isEnd else { return }
            kill ? scheduler.endRuns(of: changed.jobs) : scheduler.withdrawRuns(of: changed.jobs)
        }.value()
        // What was offered of an ended job is withdrawn; of another it begins ahead of the answer.
        await awaitBegins(of: changed.jobs, whereOffered: !isEnd)
        return changed
    }

    /// The jobs of which a fire is in progress, whether or not they have ended since.
    private func jobsInProgress(_ selection: JobSelection, caller: Caller) -> Set<JobID> {
        switch selection {
        case .ids: []
        case .name, .tag: selection.word(of: caller).map { fires.jobs($0) } ?? []
        case .owner: fires.jobs(of: selection, caller: caller)
        }
    }

    /// The runs of the selected jobs that have their row, of jobs that have ended too.
    private func runsInProgress(_ selection: JobSelection, caller: Caller) -> [JobID: [RunID]] {
        let jobs = fires.jobs(of: selection, caller: caller)
        let runs = jobs.map { ($0, fires.begun(of: $0).compactMap(\.command).map(\.run)) }
        return Dictionary(uniqueKeysWithValues: runs.filter { !$0.1.isEmpty })
    }

    /// Returns once it is known of each command of `jobs` that a runner was told to begin whether it has.
    private func awaitBegins(of jobs: [StoredJob], whereOffered: Bool) async {
        let runs = jobs.flatMap { fires.begun(of: $0.id).compactMap { $0.command?.run.rawValue } }
        if !runs.isEmpty { await runner.awaitBegins(of: runs, whereOffered: whereOffered) }
    }

    /// Has ended jobs live again, all or none.
    func restore(_ selection: JobSelection, caller: Caller) async throws -> ChangedJobs {
        // One that lives is taken up as its row stands: a fire that begins meanwhile would begin once more.
        try hold([selection], caller: caller)
        defer { letGo([selection], caller: caller) }
        let limit = jobLimit(of: caller)
        return try await submitWrite(
            of: caller.uid,
            isLong: selection.isLong,
            unstarted: unstarted([selection], caller)
        ) {
            try $0.restore(selection, limit: limit, caller: caller)
        }.value()
    }

    /// Fires a job now; returns it, and the fire, once that is stored and in the loop.
    func fire(_ reference: JobReference, caller: Caller) async throws -> (StoredJob, FireID) {
        let selection = JobSelection(reference)
        try hold([selection], caller: caller)
        defer { letGo([selection], caller: caller) }
        let most = settings.maxWaitingPerUser
        let full = fires.users(withWaiting: most).filter(turns.isLimited)
        let fired = try await submitWrite(
            of: caller.uid,
            unstarted: unstarted([selection], caller)
        ) { writer in
            let id = try writer.resolve(reference, caller: caller)
            return try writer.fireNow(id, full: full, most: most, caller: caller)
        } durable: { scheduler, fired in
            scheduler.fireByHand(fired)
        }.value()
        return (fired.job, fired.fire)
    }

    /// The fires of the selected jobs whose row says `running`, or soon will, and whose command was not
    /// started.
    private func unstarted(_ selections: [JobSelection], _ caller: Caller) -> Set<FireID> {
        var unstarted: Set<FireID> = []
        for selection in selections {
            unstarted.formUnion(armed.unstartedFires(of: selection, caller: caller))
            for job in fires.jobs(of: selection, caller: caller) {
                unstarted.formUnion(fires.begun(of: job).filter(\.isUnstarted).map(\.fire.id))
            }
        }
        return unstarted
    }

    /// How many live jobs the caller may have; nil for root, who may have any number.
    private func jobLimit(of caller: Caller) -> Int? {
        caller.uid == 0 ? nil : settings.maxJobsPerUser
    }

    /// Refuses a command that comes while the scheduler stops.
    func requireRunning() throws {
        if isStopping { throw stopRefusal }
    }

    /// Takes the timers of the selected jobs out of the loop: no fire of them begins until `letGo`.
    private func hold(_ selections: [JobSelection], caller: Caller) throws {
        try requireRunning()
        for selection in selections {
            fireLocks.hold(selection, caller: caller)
            for id in armed.ids(of: selection, caller: caller) { armed.stopTimer(of: id) }
        }
    }

    /// Puts back the timers of those that are still to fire.
    func letGo(_ selections: [JobSelection], caller: Caller) {
        for selection in selections { fireLocks.release(selection, caller: caller) }
        for selection in selections {
            for id in armed.ids(of: selection, caller: caller) { arm(id) }
        }
        // Those of other jobs wait for changes of their own.
        guard !lockedFires.isEmpty else { return }
        for selection in selections {
            goOnLocked(of: fires.jobs(of: selection, caller: caller))
        }
    }
}

extension JobSelection {
    /// Whether a change of it may take long; true for a tag and a user, as only the store knows how many jobs
    /// they have.
    fileprivate var isLong: Bool {
        switch self {
        case .ids(let ids): ids.count > Scheduler.longWrite
        case .name: false
        case .tag, .owner: true
        }
    }

    init(_ reference: JobReference) {
        switch reference {
        case .id(let id): self = .ids([id])
        case .name(let name): self = .name(name)
        }
    }
}

extension Scheduler {
    /// What a command is told that comes as the scheduler stops.
    nonisolated var stopRefusal: ControlError { terms.refusal ?? .stoppingForGood }
}

extension ControlError {
    static let stoppingForGood = Self(
        .stopping,
        "the daemon is stopping; try again once it is back"
    )
}

// SPDX-License-Identifier: Apache-2.0

import DequeModule
import LinuxSystem
import Schedules
import TimerControl

/// Commands that are to begin: each takes a place among the runs first, or waits for one.
extension Scheduler {
    /// Adds a fire whose command waits, and begins it if it may begin already.
    func wait(_ fire: CommandFire, for wait: CommandFire.Wait) {
        fires.insert(fire, .waiting(wait))
        goOn(fire.id)
    }

    /// Begins a fire's command if it may begin by now; else this is called again when that may have changed.
    func goOn(_ id: FireID) {
        guard let entry = fires[id], isRecovered, !isStopping, runnerTrouble == nil else { return }
        switch entry.state {
        case .waiting(.place): seekPlace(id)
        case .waiting(.run): if !fires.isBusy(entry.fire.job.id) { seekPlace(id) }
        case .waiting(.time(let date)): waitUntil(date, id)
        case .ready(let command): if !isLocked(entry.fire) { start(command) }
        case .waiting(.record), .beginning, .running: break
        }
    }

    /// Which limit keeps each of these fires from its place; those that none does are left out.
    func limits(of fires: [FireID]) -> [FireID: Run.PlaceLimit] {
        fires.reduce(into: [:]) { $0[$1] = places.limit(of: $1) }
    }

    /// The newest runs in progress; those of `owner` alone, unless it is nil.
    ///
    /// - Complexity: that of all that runs: no more than there are places, however many wait.
    func runs(of owner: OwnerID?, atMost count: Int) -> [RunID] {
        let runs = fires.byRun.keys.filter { run in
            owner.map { $0 == fires[run]?.job.ownerID } ?? true
        }
        return Array(runs.sorted(by: >).prefix(count))
    }

    private func waitUntil(_ date: Timestamp, _ id: FireID) {
        let moment = clock.now()
        guard date > moment.elapsed else { return seekPlace(id) }
        let timer = loop.arm(.fire(id), at: moment.wallDate(date, on: .elapsed), for: self)
        fires.setTimer(timer, of: id)
    }

    private func seekPlace(_ id: FireID) {
        guard let entry = fires[id] else { return }
        let fire = entry.fire
        let isStored = if case .waiting(.place) = entry.state { true } else { fire.handler != nil }
        fires.setState(.waiting(.place), of: id)
        if !hosts.mayTake(fire) {
            // Not among those that wait for a place: it would keep it from those that have a host.
            leavePlace(id)
            hosts.wait(fire)
            if !isStored { record(of: fire.job) { try $0.waitForPlace(id) } }
            return
        }
        // Its job may have been given this host as it waited for another.
        hosts.leaveLine(id)
        if places.enter(id, of: fire.job.owner.uid, isLate: fire.isLate) {
            begin(id)
        } else if !isStored {
            record(of: fire.job) { try $0.waitForPlace(id) }
        }
    }

    /// Stores that the command of a fire with a place is about to start; goes on when that is durable.
    private func begin(_ id: FireID) {
        guard let entry = fires[id], case .waiting(.place) = entry.state, places.hasPlace(id),
            !isStopping, runnerTrouble == nil, !isLocked(entry.fire)
        else { return }
        let fire = entry.fire
        guard fires.mayBegin(fire) else {
            fires.setState(.waiting(.run), of: id)
            return leavePlace(id)
        }
        guard let place = host(for: fire) else { return hosts.wait(fire) }
        fires.setState(.beginning, of: id)
        record(of: fire.job) {
            try $0.beginCommand(fire, at: place)
        } durable: { scheduler, begun in
            scheduler.begun(fire, begun, at: place)
        }
    }

    /// A host for a fire that has its place; nil, and the place is given back, where none may take it now.
    func host(for fire: CommandFire) -> RunPlace? {
        if let host = hosts.enter(fire) { return host }
        leavePlace(fire.id)
        return nil
    }

    /// A job is to run on another host: what waits, perhaps for the one before, waits for that, or begins there.
    func hostChanged(of job: JobID) {
        for id in fires.waitingFires(of: job) { goOn(id) }
    }

    private func begun(_ asked: CommandFire, _ begun: BegunCommand?, at place: RunPlace) {
        let id = asked.id
        // A change that ended the job meanwhile has dropped the fire; by one of its command its handler may begin instead.
        guard let entry = fires[id], case .beginning = entry.state,
            entry.fire.attempt == asked.attempt, entry.fire.handler == asked.handler
        else { return }
        guard let begun else { return drop(id) }
        var fire = entry.fire
        if fire.firedAt == nil { counters.countFire(fire, at: clock.now()) }
        fire.job = begun.job
        fire.firedAt = begun.firedAt
        let command = RunningCommand(
            run: begun.run,
            place: place,
            fire: fire,
            command: begun.command,
            input: begun.input
        )
        fires.setState(.ready(command), of: id)
        if isStopping { putBack(command) } else { goOn(id) }
    }

    /// Stores that a command which was about to start waits again, for the next daemon.
    func putBack(_ command: RunningCommand) {
        record(of: command.job) { try $0.waitAgain(command.fire, after: command.run) }
        drop(command.fire.id)
    }

    // MARK: - Those that go

    /// Forgets a fire that is over, or was dropped; what waited for that goes on.
    func drop(_ id: FireID) { drop([id]) }

    /// Forgets fires that are over, or were dropped; none of them begins because of another's end.
    func drop(_ ids: [FireID]) {
        var jobs: Set<JobID> = []
        for id in ids {
            guard let job = fires.remove(id)?.fire.job.id else { continue }
            jobs.insert(job)
            lockedFires[job]?.remove(id)
            if lockedFires[job]?.isEmpty == true { lockedFires[job] = nil }
        }
        for id in ids { leavePlace(id) }
        for job in jobs.sorted() { runsChanged(of: job) }
        resumeIfIdle()
    }

    /// Gives back a fire's place, or leaves the line; the fires that get a place by this begin.
    func leavePlace(_ id: FireID) {
        if let next = hosts.leave(id) { served.append([next]) }
        served.append(places.leave(id))
        guard served.begin() else { return }
        while let next = served.next() { goOn(next) }
    }

    /// Drops the job's fires whose command has not begun; the store has done the same when it ended the job.
    ///
    /// `inPieces`: of many that wait the rest at later passes of the loop, as where the store begins none of them.
    func withdrawFires(of job: JobID, inPieces: Bool = false) {
        let begun = fires.begun(of: job).filter { !$0.isRunning }.map(\.fire.id)
        let waiting = fires.waitingFires(of: job)
        let now = inPieces ? SaidByStore.slice : waiting.count
        // Each that is dropped may make room for another of them, which would ask the store in vain.
        places.leaveLine(waiting)
        drop((begun + waiting.prefix(now)).sorted())
        dropWaiting(waiting.dropFirst(now))
    }

    private func dropWaiting(_ ids: ArraySlice<FireID>) {
        guard !ids.isEmpty else { return }
        perform { scheduler in
            scheduler.drop(Array(ids.prefix(SaidByStore.slice)))
            scheduler.dropWaiting(ids.dropFirst(SaidByStore.slice))
        }
    }

    /// Has the store close what a write has dropped of jobs and left, of each user by itself.
    func closeLeft(_ left: [StoreOutcome.Left]) {
        guard !left.isEmpty else { return }
        let ofUsers = Dictionary(grouping: left, by: \.user).sorted { $0.key < $1.key }
        for (user, left) in ofUsers { closeLeft(left[...], of: user) }
    }

    /// Has the store close the next of what was dropped of a user's jobs; the rest follows once that is durable, behind the
    /// writes that came in between.
    private func closeLeft(_ left: ArraySlice<StoreOutcome.Left>, of user: UInt32) {
        // At a stop the next daemon closes the rest.
        guard !left.isEmpty, !isStopping else { return }
        var (piece, rest): ([StoreOutcome.Left], ArraySlice<StoreOutcome.Left>) = ([], left)
        var room = JobTransaction.droppedAtOnce
        while room > 0, var next = rest.first {
            let count = next.fires.count
            next.fires = next.fires.prefix(room)
            room -= next.fires.count
            piece.append(next)
            if next.fires.count < count {
                rest[rest.startIndex].fires.removeFirst(next.fires.count)
            } else {
                rest.removeFirst()
            }
        }
        record(about: user) { [piece] transaction in
            for next in piece { try transaction.closeDropped(next.fires, of: next.job) }
        } durable: { [rest] scheduler, _ in
            scheduler.closeLeft(rest, of: user)
        } dropped: { [rest] scheduler, _ in
            // It has been logged; the next daemon closes these.
            scheduler.closeLeft(rest, of: user)
        }
    }

    /// Drops those of `closed` whose command has not begun; the store has closed them.
    func dropClosed(_ closed: [FireID]) {
        let left = closed.filter { fires[$0].map { !$0.isRunning } ?? false }
        if !left.isEmpty { drop(left) }
    }

    /// A command of the job is over: what waited for that goes on.
    func runsChanged(of job: JobID) {
        guard isRecovered, !fires.isBusy(job) else { return }
        if let fire = fires.queued(of: job) {
            goOn(fire)
        } else if armed[job]?.timer == nil {
            // A date that is made up for may have waited for this.
            timerFired(job)
        }
    }

    /// Whether a fire with a place is to wait for the change of its job that is under way; it is noted then.
    private func isLocked(_ fire: CommandFire) -> Bool {
        guard fireLocks.covers(fire.job) else { return false }
        lockedFires[fire.job.id, default: []].insert(fire.id)
        return true
    }

    /// Lets the locked fires of these jobs go on, unless another change of their job is under way.
    ///
    /// - Complexity: O(jobs) for those that stay locked, however many fires they have.
    func goOnLocked(of jobs: some Sequence<JobID>) {
        var ids: [FireID] = []
        for job in jobs {
            // What locks one of them locks them all.
            let first = lockedFires[job]?.first.flatMap { fires[$0]?.fire.job }
            if let first, fireLocks.covers(first) { continue }
            ids += lockedFires.removeValue(forKey: job) ?? []
        }
        for id in ids.sorted() {
            // What was about to start was read of the job as it was before the change.
            if case .ready(let command) = fires[id]?.state { beginAnew(command) } else { goOn(id) }
        }
    }

    /// Lets all waiting fires go on, oldest first, after a hold of many jobs or a step of the clock.
    func goOnAll() {
        lockedFires = [:]
        for id in fires.all.map(\.fire.id).sorted() { goOn(id) }
    }
}

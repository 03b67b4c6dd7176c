// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Runner
import Schedules
import TimerControl

extension Scheduler {
    /// A job's timer fired, or what its fire waited for has come.
    ///
    /// `isItsTurn`: the fire was taken out of its user's queue.
    func timerFired(_ id: JobID, isItsTurn: Bool = false) {
        if endIfUntiedAndGone(id) { return }
        guard let entry = armed[id], !fireLocks.covers(entry.job), !isStopping else { return }
        // It stays claimed: whoever leads by now finds it.
        guard mayBegin else { return }
        // Without a number at hand the fire could not be told and recorded before whatever else happens to
        // the job.
        guard canNumber else { return awaitNumbers(for: id) }
        armed.stopTimer(of: id)
        let owner = entry.job.owner.uid
        // Other fires of its user wait: what to do with this one is decided in its turn. A fire that only has to start is
        // begun at once, however many are due with it.
        if !isItsTurn, !entry.hasHadTurn, turns.isBehind(owner) { return awaitTurn(entry) }
        let moment = clock.now()
        let now = moment.reading(of: entry.job.clock)
        let isQueued = fires.queued(of: id) != nil
        let step = entry.step(at: now, isRunning: fires.isBusy(id), isQueued: isQueued)
        if step == .wait { return armAgain(id) }
        if step == .waitForRun { return }
        if isItsTurn {
            if !entry.hasHadTurn { turns.spend(owner, at: moment.elapsed) }
        } else {
            let isBegun = turns.tryBegin(
                id,
                of: owner,
                hasHadTurn: entry.hasHadTurn,
                at: moment.elapsed
            )
            guard isBegun else { return awaitTurn(entry) }
        }
        carryOut(step, entry)
        if !isItsTurn { turns.done(at: clock.now().elapsed) }
    }

    private func carryOut(_ step: ArmedJob.Step, _ entry: ArmedJob) {
        switch step {
        case .wait, .waitForRun: break
        case .prepare: prepare(entry, isDue: false)
        case .fire: fire(entry)
        case .resolveAgain: replace(entry) { try $0.resolveAgain($1) }
        case .skip: skip(entry)
        case .enqueue: enqueue(entry, for: .run)
        }
    }

    /// Skips the date of a job that is not to run beside itself; the event names the run in progress.
    private func skip(_ entry: ArmedJob) {
        let reason: FireReason = entry.job.policy.run.overlap == .queue ? .lineFull : .overlap
        let begun = fires.begun(of: entry.job.id)
        let run = begun.last { $0.fire.handler == nil && $0.isRunning }?.command?.run
        replace(entry) { try $0.recordSkipped($1, reason, besides: run) }
    }

    /// Arms a job again whose timer was early: the clock was set back, or its run could not be prepared yet.
    private func armAgain(_ id: JobID) {
        guard let entry = armed[id], let date = entry.job.dueDate else { return }
        arm(entry.job, at: max(date, entry.wakeDate ?? date))
    }

    /// Disarms the job and lets the store decide what comes next.
    ///
    /// `delay`, `durable`: see `record`.
    private func replace<T: Sendable>(
        _ entry: ArmedJob,
        within delay: Duration = .zero,
        _ body: @escaping @Sendable (inout JobTransaction, StoredJob) throws -> T,
        durable: (@Sendable (isolated Scheduler, T) -> Void)? = nil
    ) {
        disarm(entry.job.id)
        let job = awaitingStore(entry.job)
        record(
            of: job,
            within: delay,
            share: entry.share,
            { writer in
                try writer.attributing(entry.hasWaited ? .overload : nil) { try body(&$0, job) }
            },
            durable: durable
        )
    }

    // MARK: - The effect

    private func fire(_ entry: ArmedJob) {
        guard let claim = entry.job.claim else { return }
        if let queue = entry.job.policy.queue?.queue {
            let (job, moment) = (entry.job, clock.now())
            let key = QueueKey(owner: job.ownerID, name: queue)
            // Where `serveAhead` asks the store right behind this record, that request wakes the store for both.
            replace(entry, within: canServeAhead(key) ? .milliseconds(50) : .zero) {
                try $0.recordTask($1)
            } durable: { scheduler, isTask in
                if isTask { scheduler.counters.countFire(of: job, claim, at: moment) }
            }
            return serveAhead(key)
        }
        guard let command = entry.job.definition.command else { return beginEvent(entry, claim) }
        switch entry.stage {
        case .waiting: prepare(entry, isDue: true)
        case .preparing: armed.setStage(.preparing(isDue: true), of: entry.job.id)
        case .prepared(let run, let place):
            armed.remove(entry.job.id)
            let firedAt = begin(entry, claim)
            var fire = commandFire(entry.job, claim)
            fire.firedAt = firedAt
            let command = RunningCommand(run: run, place: place, fire: fire, command: command)
            fires.insert(fire, .ready(command))
            start(command)
        }
    }

    /// Makes a fire's command wait for a place, or for the run in progress, which is ended if the overlap is
    /// `replace`, once that is stored.
    private func enqueue(_ entry: ArmedJob, for wait: CommandFire.Wait) {
        guard let claim = entry.job.claim else { return }
        disarm(entry.job.id)
        let replaced = wait == .run ? replaceFires(of: entry.job) : nil
        let ending = replaced?.ending ?? []
        // The transaction notes of these runs that they end.
        let end: @Sendable (isolated Scheduler, Void) -> Void = { scheduler, _ in
            for run in ending { scheduler.stop(run, .replace) }
        }
        // What cannot start must not delay those that can: its claim is stored, and a crash leaves it waiting.
        let delay = wait == .place ? delay(of: entry) : .zero
        record(
            of: entry.job,
            within: delay,
            share: entry.share,
            unstarted: replaced?.unstarted ?? [],
            { writer in
                try writer.attributing(entry.hasWaited ? .overload : nil) {
                    try $0.recordWaiting(
                        claim.fire,
                        of: entry.job,
                        for: wait == .run ? .run : .place
                    )
                }
            },
            durable: ending.isEmpty ? nil : end
        )
        self.wait(commandFire(entry.job, claim), for: wait)
    }

    /// Drops the job's fires whose command does not run if its overlap is `replace`; else does nothing.
    ///
    /// - Returns: the fires whose row says `running` and whose command was not started, and the runs in progress, which are to
    ///   end.
    private func replaceFires(of job: StoredJob) -> (unstarted: Set<FireID>, ending: [RunID])? {
        guard job.policy.run.overlap == .replace else { return nil }
        let entries = fires.of(job.id).filter { $0.fire.handler == nil }
        let replaced = entries.filter { !$0.isRunning }
        drop(replaced.map(\.fire.id))
        return (
            Set(replaced.filter(\.isUnstarted).map(\.fire.id)),
            entries.compactMap(\.command?.run)
        )
    }

    /// The fire of a claim, whose command is still to begin.
    private func commandFire(_ job: StoredJob, _ claim: StoredJob.Claim) -> CommandFire {
        let now = clock.now()
        var fire = CommandFire(
            id: claim.fire,
            job: job,
            fireDate: claim.dateByHand ?? job.wallFireDate(at: now) ?? now.wall,
            dueBy: job.dueBy(of: claim, at: now),
            missed: claim.missed,
            isByHand: claim.dateByHand != nil
        )
        fire.isLate = fire.isLate(at: now)
        return fire
    }

    /// Takes a place for the run and stores that it is about to start.
    ///
    /// It starts when that is durable and the date has come. Without a free place a fire that is due waits
    /// for one; a fire ahead of its date tries again at the date.
    private func prepare(_ entry: ArmedJob, isDue: Bool) {
        guard let claim = entry.job.claim, let date = entry.job.dueDate else { return }
        let (id, fire) = (entry.job.id, claim.fire)
        let isLate = isDue && commandFire(entry.job, claim).isLate
        let user = entry.job.owner.uid
        guard runnerTrouble == nil, places.enterIfFree(fire, of: user, isLate: isLate),
            let place = host(for: commandFire(entry.job, claim))
        else {
            guard !isDue || mayWait(entry.job) else {
                return replace(entry) { try $0.recordSkipped($1, .overload) }
            }
            if isDue { return enqueue(entry, for: .place) }
            turns.giveBack(user)
            return arm(entry.job, at: date)
        }
        armed.setStage(.preparing(isDue: isDue), of: id)
        if !isDue {
            arm(id)
            askAhead(about: entry.job)
        }
        record(of: entry.job, share: entry.share) {
            try $0.prepareRun(of: id, fire: fire, attempt: 1, at: place)
        } durable: { scheduler, run in
            guard case .preparing(let isDue) = scheduler.armed[id]?.stage,
                scheduler.armed[id]?.job.claim?.fire == fire
            else { return }
            scheduler.armed.setStage(.prepared(run, place), of: id)
            if isDue { scheduler.timerFired(id) }
        }
    }

    /// Whether one more fire of the job may wait for its command to begin; any may of root and the daemon's own user.
    func mayWait(_ job: StoredJob) -> Bool {
        !turns.isLimited(job.owner.uid)
            || fires.hasRoom(for: job, most: settings.maxWaitingPerUser)
    }

    /// Asks the user database and PAM about a job's owner while there is time: at the date the answers are there.
    private func askAhead(about job: StoredJob) {
        // A user's own daemon runs all as itself, and asks nobody.
        guard settings.account.uid == 0 else { return }
        let (requests, owner, id) = (requests, job.owner, job.id)
        Task.detached(executorPreference: pool) {
            // try?: the start of the run asks too, and tells what is wrong.
            _ = try? await requests.account(of: owner, job: id)
        }
    }

    /// Carries out a fire by hand; the job keeps its schedule.
    ///
    /// `isRedelivery`: a daemon before this one may have told it.
    func fireByHand(_ fired: FireByHand, isRedelivery: Bool = false) {
        let (job, fire) = (fired.job, fired.fire)
        let claim = StoredJob.Claim(
            fire: fire,
            missed: 0,
            isRedelivery: isRedelivery,
            dateByHand: fired.date
        )
        // The write that stored it has made a task of it, and tells it.
        guard !fired.isTask else { return counters.countFire(of: job, claim, at: clock.now()) }
        guard let waitsFor = fired.waitsFor else {
            begin(job, claim, within: SharedCommit.delay) { try $0.recordManual($1) }
            return
        }
        let isQueued = waitsFor == .run
        // The transaction that stored this fire has dropped the waiting fires already, and noted of the runs that they end.
        if isQueued {
            for run in replaceFires(of: job)?.ending ?? [] { stop(run, .replace) }
        }
        wait(commandFire(job, claim), for: isQueued ? .run : .place)
    }

    /// Begins the fire of a date that has come; returns the wall clock's date.
    ///
    /// `end`: why the job has ended, which is told with it.
    @discardableResult
    func begin(
        _ entry: ArmedJob,
        _ claim: StoredJob.Claim,
        _ going: GoingOn = GoingOn(),
        end: StoredJob.EndReason? = nil
    ) -> Timestamp {
        let hasWaited = entry.hasWaited
        let delay = going.dropsAhead ? .zero : delay(of: entry)
        return begin(
            entry.job,
            claim,
            within: delay,
            share: entry.share,
            end: end
        ) { writer, begun in
            var begun = begun
            begun.going = going
            try writer.attributing(hasWaited ? .overload : nil) { try $0.record(begun) }
        }
    }

    /// How long the record of the job's fire may wait for others.
    private func delay(of entry: ArmedJob) -> Duration {
        let isCrowded = turns.isCrowded(entry.job.owner.uid)
        return SharedCommit.delay(of: entry.job, isCrowded: isCrowded, at: clock.now())
    }

    /// Records that a fire has begun and tells the watchers; returns the wall clock's date.
    @discardableResult
    private func begin(
        _ job: StoredJob,
        _ claim: StoredJob.Claim,
        within delay: Duration,
        share: UInt32? = nil,
        end: StoredJob.EndReason? = nil,
        _ write: @escaping @Sendable (inout JobTransaction, BegunFire) throws -> Void
    ) -> Timestamp {
        let moment = clock.now()
        counters.countFire(of: job, claim, at: moment)
        var told = FireEvents(fired: fireEvent(job, claim, at: moment))
        told.end = end.map { endEvent(job, claim, $0, at: moment) }
        publish(told) { scheduler, told in
            let begun = BegunFire(
                job: job,
                fire: claim.fire,
                firedAt: moment.wall,
                told: told
            )
            // With `seesAll` the job's end is stored behind all other events of the job: a crash leaves none of these to be
            // told after it.
            scheduler.record(of: job, within: delay, share: share, seesAll: told.end != nil) {
                try write(&$0, begun)
            }
        }
        return moment.wall
    }
}

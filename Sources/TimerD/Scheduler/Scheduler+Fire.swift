// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

extension Scheduler {
    /// A job's timer fired, or what its fire waited for has come.
    ///
    /// `isItsTurn`: it has waited behind others that were due.
    func timerFired(_ id: JobID, isItsTurn: Bool = false) {
        if endIfUntiedAndGone(id) { return }
        guard let entry = armed[id], !holds.covers(entry.job), !isStopping else { return }
        // What begins is told and stored at once, ahead of whatever else happens to the job.
        guard canNumber else { return awaitNumbers(for: id) }
        armed.stopTimer(of: id)
        let moment = clock.now()
        let now = moment.reading(of: entry.job.clock)
        let isQueued = queuedFire(of: id) != nil
        let step = entry.step(at: now, isRunning: isBusy(id), isQueued: isQueued)
        if step == .wait { return wait(for: id, at: now) }
        if step == .waitForRun { return }
        let owner = entry.job.owner.uid
        if isItsTurn {
            if !entry.hasHadTurn { turns.spend(owner, at: moment.elapsed) }
        } else {
            let isPaid = entry.hasHadTurn
            guard turns.begins(id, of: owner, isPaid: isPaid, at: moment.elapsed) else {
                return awaitTurn(entry)
            }
        }
        carryOut(step, entry)
        if !isItsTurn { turns.done(at: clock.now().elapsed) }
    }

    private func carryOut(_ step: ArmedJob.Step, _ entry: ArmedJob) {
        switch step {
        case .wait, .waitForRun: break
        case .prepare: prepare(entry, isDue: false)
        case .fire: fire(entry)
        case .resettle: replace(entry) { try $0.resettle($1) }
        case .skip: replace(entry) { try $0.recordSkipped($1, .overlap) }
        case .enqueue: enqueue(entry)
        }
    }

    /// Called early: by a clock that was set back, or because its run could not be prepared yet.
    private func wait(for id: JobID, at now: Timestamp) {
        guard let entry = armed[id], let date = entry.job.dueDate else { return }
        arm(entry.job, at: max(date, entry.wakeDate ?? date))
    }

    /// Takes the job out and lets the store decide what comes next of it.
    private func replace(
        _ entry: ArmedJob,
        _ body: @escaping @Sendable (inout JobWriter, StoredJob) throws -> Void
    ) {
        armed.remove(entry.job.id)
        let job = entry.job
        record(about: entry.job.owner, share: entry.share) { writer in
            if entry.hasWaited { writer.missedFor = .overload }
            try body(&writer, job)
        }
    }

    // MARK: - The effect

    private func fire(_ entry: ArmedJob) {
        guard let claim = entry.job.claim else { return }
        guard let command = entry.job.definition.command else {
            armed.remove(entry.job.id)
            begin(entry, claim)
            return
        }
        switch entry.stage {
        case .waiting: prepare(entry, isDue: true)
        case .preparing: armed.setStage(.preparing(isDue: true), of: entry.job.id)
        case .prepared(let run):
            armed.remove(entry.job.id)
            let firedAt = begin(entry, claim)
            start(
                RunningCommand(
                    run: run,
                    job: entry.job,
                    fire: claim.fire,
                    command: command,
                    fireDate: entry.job.wallFireDate(at: clock.now()) ?? firedAt,
                    firedAt: firedAt,
                    missed: claim.missed
                )
            )
        }
    }

    /// Begins a fire whose command has to wait for the run in progress; ends that run where the job
    /// wants it replaced.
    private func enqueue(_ entry: ArmedJob) {
        guard let claim = entry.job.claim else { return }
        armed.remove(entry.job.id)
        let hasWaited = entry.hasWaited
        let firedAt = beginWaiting(entry.job, claim, share: entry.share) { writer, begun in
            if hasWaited { writer.missedFor = .overload }
            try writer.record(begun, isWaiting: true)
        }
        queue(
            WaitingRun(
                job: entry.job,
                fire: claim.fire,
                fireDate: entry.job.wallFireDate(at: clock.now()) ?? firedAt,
                firedAt: firedAt,
                missed: claim.missed,
                attempt: 1,
                cause: .run
            )
        )
    }

    /// Puts a fire behind the run in progress.
    func queue(_ run: WaitingRun) {
        let id = run.job.id
        if run.job.policy.run.overlap == .replace {
            // The newest fire is the one that is wanted: neither an older one nor its next attempt.
            for fire in waitingFires[id] ?? [] where waiting[fire]?.isStarting == false {
                guard waiting[fire]?.cause != .onFailure else { continue }
                forgetWaiting(fire)
                record(about: run.job.owner) { try $0.giveUp(fire) }
            }
            wait(run)
            for old in runs[id, default: []].subtracting(onFailureRuns) {
                stop(old, by: run.job.policy.run.teardown)
            }
        } else {
            wait(run)
        }
        runsChanged(of: id)
    }

    /// Stores that the run is about to start; goes on when that is durable and the date has come.
    private func prepare(_ entry: ArmedJob, isDue: Bool) {
        guard let fire = entry.job.claim?.fire else { return }
        let id = entry.job.id
        armed.setStage(.preparing(isDue: isDue), of: id)
        if !isDue { arm(id) }
        record(about: entry.job.owner, share: entry.share) {
            try $0.prepareRun(of: id, fire: fire, attempt: 1)
        } durable: { scheduler, run in
            guard case .preparing(let isDue) = scheduler.armed[id]?.stage,
                scheduler.armed[id]?.job.claim?.fire == fire
            else { return }
            scheduler.armed.setStage(.prepared(run), of: id)
            if isDue { scheduler.timerFired(id) }
        }
    }

    /// Fires out of turn; the job keeps its schedule.
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
        guard let command = job.definition.command else {
            begin(job, claim) { begun in { try $0.recordManual(begun) } }
            return
        }
        guard let run = fired.run else {
            let firedAt = beginWaiting(job, claim) { try $0.recordManual($1, isWaiting: true) }
            return queue(
                WaitingRun(
                    job: job,
                    fire: fire,
                    fireDate: fired.date,
                    firedAt: firedAt,
                    missed: 0,
                    attempt: 1,
                    cause: .run
                )
            )
        }
        let firedAt = begin(job, claim) { begun in { try $0.recordManual(begun) } }
        start(
            RunningCommand(
                run: run,
                job: job,
                fire: fire,
                command: command,
                fireDate: fired.date,
                firedAt: firedAt,
                missed: 0
            )
        )
    }

    /// The same for the fire of a date that has come.
    @discardableResult
    private func begin(_ entry: ArmedJob, _ claim: StoredJob.Claim) -> Timestamp {
        let hasWaited = entry.hasWaited
        return begin(entry.job, claim, share: entry.share) { begun in
            { writer in
                if hasWaited { writer.missedFor = .overload }
                try writer.record(begun)
            }
        }
    }

    /// Tells the watchers that a fire has begun, then the store; returns the wall clock's date.
    @discardableResult
    private func begin(
        _ job: StoredJob,
        _ claim: StoredJob.Claim,
        share: UInt32? = nil,
        _ write: @escaping @Sendable (BegunFire) -> @Sendable (inout JobWriter) throws -> Void
    ) -> Timestamp {
        let moment = clock.now()
        counters.countFire(of: job, claim, at: moment)
        number(fireEvent(job, claim, at: moment)) { scheduler, event in
            let begun = BegunFire(
                job: job,
                fire: claim.fire,
                firedAt: moment.wall,
                events: [event]
            )
            scheduler.record(about: job.owner, share: share, write(begun))
            scheduler.events.publish(event)
        }
        return moment.wall
    }

    /// Stores that a fire has begun whose command has to wait, and tells the watchers then.
    ///
    /// Nobody is to hear of it before: a daemon that starts after a crash finds a claim that was not
    /// carried out, and lets the date follow the misfire rule.
    private func beginWaiting(
        _ job: StoredJob,
        _ claim: StoredJob.Claim,
        share: UInt32? = nil,
        _ write: @escaping @Sendable (inout JobWriter, BegunFire) throws -> Void
    ) -> Timestamp {
        let moment = clock.now()
        counters.countFire(of: job, claim, at: moment)
        let begun = BegunFire(
            job: job,
            fire: claim.fire,
            firedAt: moment.wall,
            events: [fireEvent(job, claim, at: moment)]
        )
        record(about: job.owner, share: share) { try write(&$0, begun) }
        return moment.wall
    }

    private func fireEvent(_ job: StoredJob, _ claim: StoredJob.Claim, at moment: Moment) -> Event {
        var event = Event(seq: 0, type: .fireFired, at: moment.wall, job: job.id)
        event.owner = job.owner
        event.ownerID = job.ownerID
        event.name = job.definition.name
        event.fire = claim.fire
        event.fireDate =
            claim.dateByHand ?? job.wallFireDate(at: moment)
        event.firedAt = moment.wall
        event.userInfo = job.definition.userInfo
        event.missed = claim.missed > 0 ? claim.missed : nil
        event.redelivered = claim.isRedelivery ? true : nil
        event.reason = claim.dateByHand == nil ? nil : FireReason.manual.rawValue
        return event
    }
}

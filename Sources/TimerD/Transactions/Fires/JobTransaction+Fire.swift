// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A fire that has begun: the store records it, and cannot refuse it.
struct BegunFire: Sendable {
    /// The job as it stood when the fire began, claim included.
    var job: StoredJob
    var fire: FireID
    /// By the wall clock.
    var firedAt: Timestamp
    var told: FireEvents
    var going = GoingOn()
}

/// What watchers are told of a fire at once, with its numbers: the effect waits for no disk.
struct FireEvents: Sendable {
    var fired: Event
    /// The end of the job, if this fire is surely the last thing that happens to it.
    ///
    /// A crash before its record has both told again.
    var end: Event?
}

extension StoredJob {
    /// Why the fire of its claim ends it, where nothing else follows from that; nil as well where only the store
    /// can say.
    func endWithItsFire(at moment: ClockReading) -> EndReason? {
        guard isOneShot, definition.isEvent, !definition.isTied, movedFrom == nil,
            ahead?.isEmpty == true, unread == nil, let date = fireDate,
            case .ended(let reason) = next(after: date, fires: fires + 1, at: moment)
        else { return nil }
        return reason
    }
}

extension JobTransaction {
    /// Records a fire that has begun by its schedule, and moves the job on.
    mutating func record(_ begun: BegunFire) throws {
        var job = begun.job
        if begun.going.isBehind || job.ahead == nil, try !catchUp(&job) {
            try recordBeside(begun)
            return try markFired(begun)
        }
        try markFired(begun)
        endTold = begun.told.end?.seq
        try moveOn(job, begun.going)
        endTold = nil
    }

    /// Records that a date has come whose command has to wait, and moves the job on.
    ///
    /// The fire counts from now on; its event is told when its command begins.
    mutating func recordWaiting(_ fire: FireID, of job: StoredJob, for wait: Run.Wait) throws {
        var job = job
        // Its run may have been made ready.
        try releaseRun(of: fire)
        // Under `replace` only the newest fire is wanted: older ones, and their next attempts, are dropped.
        if job.policy.run.overlap == .replace { try dropFires(of: &job, for: .replaced) }
        try fires.markWaiting(fire, for: wait, until: nil)
        try moveOn(job, GoingOn())
    }

    /// Moves the job on from its date, which has become a fire.
    mutating func moveOn(_ job: StoredJob, _ going: GoingOn) throws {
        var job = job
        let date = job.fireDate ?? moment.reading(of: job.clock)
        job.claim = nil
        job.fires += 1
        try orHold(job) { transaction, job in
            if try !transaction.goOn(&job, past: date, going) {
                try transaction.advance(&job, past: date)
            }
            try transaction.resolveAndPut(job, depth: going.depth)
        }
    }

    /// Records that a fire which was claimed did not become one, and moves the job on.
    ///
    /// `run`: the run in progress that is the reason; nil where there is none, or it is not known.
    mutating func recordSkipped(
        _ skipped: StoredJob,
        _ reason: FireReason,
        besides run: RunID? = nil
    ) throws {
        guard let fire = skipped.claim?.fire, let date = skipped.fireDate else { return }
        // Its run may have been made ready.
        try runs.delete(of: fire)
        try fires.markSkipped(fire, reason)
        var job = skipped
        let wallDate = moment.wallDate(date, on: job.clock)
        try enqueue(.fireSkipped, job, reason.rawValue, fire: fire, run: run) {
            $0.fireDate = wallDate
        }
        job.claim = nil
        try orHold(job) { transaction, job in
            try transaction.advance(&job, past: date)
            try transaction.resolveAndPut(job)
        }
    }

    /// Releases the job's claim and decides anew what becomes of its passed dates.
    mutating func resolveAgain(_ job: StoredJob) throws {
        try orHold(job) { transaction, job in
            try transaction.deleteClaim(of: &job)
            try transaction.resolveAndPut(job)
        }
    }

    /// Fires the job now, out of turn; a one-shot is finished by it.
    ///
    /// Where a command of the job is in progress, its overlap policy decides.
    ///
    /// `full`: the users of whom `most` fires wait to begin, or more. Beyond that a job fires of which none waits or runs.
    mutating func fireNow(
        _ id: JobID,
        full: Set<UInt32> = [],
        most: Int = .max,
        caller: Caller
    ) throws -> FireByHand {
        guard var job = try job(id, for: caller) else { throw ControlError.noJob(id) }
        asker = caller.owner
        guard job.state.isLive else {
            throw ControlError(
                .conflict,
                "job \(id) is \(job.state); it fires no more"
            )
        }
        try requireNotHeld(job)
        if full.contains(job.owner.uid) { try requireIdle(job, most: most) }
        // Of one whose runs may overlap many can be in progress: they are not looked at.
        let overlaps = job.definition.command != nil && job.policy.run.overlap != .allow
        let inProgress = overlaps ? try busy(job) : nil
        let mustWait: Bool
        do throws(OverlapRefusal) {
            mustWait = try inProgress?.mustWait(job) ?? false
        } catch {
            throw ControlError(.conflict, error.message)
        }
        let (fire, now) = try insertByHand(of: job)
        job.rowsSinceTrim += 1
        var waitsFor: Run.Wait?
        if job.definition.command != nil {
            let wait: Run.Wait = mustWait ? .run : .place
            if mustWait, job.policy.run.overlap == .replace {
                try dropFires(of: &job, for: .replaced)
            }
            try fires.markWaiting(fire, for: wait, until: nil)
            waitsFor = wait
        }
        let isTask = job.policy.queue != nil
        if isTask { try beginByHand(fire, of: job, date: moment.wallDate(now, on: job.clock)) }
        job.fires += 1
        try endIfLast(&job, firedAt: now)
        try put(job)
        let date = moment.wallDate(now, on: job.clock)
        return FireByHand(job: job, fire: fire, date: date, waitsFor: waitsFor, isTask: isTask)
    }

    /// Refuses one more fire of a job that has one which waits or runs: as many of its user wait as may.
    private func requireIdle(_ job: StoredJob, most: Int) throws {
        // The fire of its next date may have been made ready: that one does not wait.
        let ahead = job.claim.flatMap { terms.unstarted.contains($0.fire) ? $0.fire : nil }
        guard job.definition.command != nil, try fires.hasBegun(job.id, besides: ahead) else {
            return
        }
        throw ControlError(
            .limitReached,
            "\(most) fires of \(job.owner.words) wait for their commands to begin; beyond that "
                + "a job may fire of which none waits or runs; 'timerctl runs \(job.id)' shows job \(job.id)'s"
        )
    }

    /// Ends a job that has had its last fire by hand, at `date` on its clock.
    private mutating func endIfLast(_ job: inout StoredJob, firedAt date: Timestamp) throws {
        if job.isOneShot {
            try releaseClaim(of: &job)
            // The date of its only fire is now.
            job.schedule = job.schedule.movingGrid(to: date)
            try end(&job, .finished, .fired)
        } else if let count = job.policy.count, job.fires >= count {
            try releaseClaim(of: &job)
            try recordUnfired(&job)
            try end(&job, .finished, .count)
        } else {
            try releaseBeyondCount(of: &job)
        }
    }

    /// Inserts a fire of now, or of the next microsecond that the job has no fire of, on the job's clock.
    private func insertByHand(of job: StoredJob) throws -> (fire: FireID, date: Timestamp) {
        var date = moment.reading(of: job.clock)
        while true {
            if let fire = try fires.insertByHand(date, of: job, at: moment) { return (fire, date) }
            date = date + TimeSpan(microseconds: 1)
        }
    }

    /// Records the effect of a fire by hand, which leaves the job as it is.
    mutating func recordManual(_ begun: BegunFire) throws { try markFired(begun) }

    private mutating func markFired(_ begun: BegunFire) throws {
        let state: Run.State = begun.job.definition.command == nil ? .fired : .running
        try fires.markFired(begun.fire, state, at: begun.firedAt)
        try events.insert(begun.told.fired, end: begun.told.end)
        let told = begun.told.fired
        guard state == .fired, told.reason == nil, let date = told.fireDate else { return }
        try noteBegin(
            begun.fire,
            of: begun.job,
            fireDate: date,
            dueBy: told.dueBy,
            at: begun.firedAt
        )
    }

    /// What is in progress of a job, by its rows; nil for nothing.
    ///
    /// A command of `onFailure` does not count, nor does a run that was made ready for a date to come.
    private func busy(_ job: StoredJob) throws -> BusyJob? {
        var busy: BusyJob?
        for (fire, wait, run) in try fires.inProgress(of: job.id) {
            if fire == job.claim?.fire, terms.unstarted.contains(fire) { continue }
            busy = busy ?? BusyJob(isQueued: false)
            if wait == .run { busy?.isQueued = true } else { busy?.isInProgress = true }
            if let run { busy?.run = run }
        }
        return busy?.isInProgress == true ? busy : nil
    }
}

/// A fire that a user asked for, out of turn.
struct FireByHand: Sendable {
    /// As it stands after the fire.
    var job: StoredJob
    var fire: FireID
    /// By the wall clock.
    var date: Timestamp
    /// What its command waits for; nil for a job without one.
    var waitsFor: Run.Wait?
    /// Whether it is a worker's, and told by the write that stored it.
    var isTask = false
}

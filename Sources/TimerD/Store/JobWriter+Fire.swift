// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A fire that has begun: a fact that the store is told of, not asked about.
struct BegunFire: Sendable {
    /// The job as it stood when the fire began, claim included.
    var job: StoredJob
    var fire: FireID
    /// By the wall clock.
    var firedAt: Timestamp
    /// The events that went out for it, numbered; those with number 0 are told once this is stored.
    var events: [Event]
}

extension JobWriter {
    /// Records a fire that has begun by its schedule, and moves the job on.
    ///
    /// `isWaiting`: its command comes once a run in progress has ended.
    mutating func record(_ begun: BegunFire, isWaiting: Bool = false) throws {
        var job = begun.job
        if isWaiting { try unprepare(begun.fire) }
        try markFired(begun, isWaiting: isWaiting)
        job.claim = nil
        job.fires += 1
        try orHold(job) { writer, job in
            try writer.advance(&job, past: begun.job.fireDate ?? begun.firedAt)
            try writer.settleAndPut(job)
        }
    }

    /// Records that a fire which was claimed did not become one, and moves the job on.
    mutating func recordSkipped(_ skipped: StoredJob, _ reason: FireReason) throws {
        guard let fire = skipped.claim?.fire, let date = skipped.fireDate else { return }
        // It may have been made ready.
        try database.prepare(SQL.deleteRunOfFire).run(fire)
        try database.prepare(SQL.markSkipped).run(fire, reason)
        var job = skipped
        let wallDate = moment.wallDate(date, on: job.clock)
        try note(.fireSkipped, job, reason.rawValue, fire: fire) { $0.fireDate = wallDate }
        job.claim = nil
        try orHold(job) { writer, job in
            try writer.advance(&job, past: date)
            try writer.settleAndPut(job)
        }
    }

    /// Settles again the dates of a job whose claimed date is not the one to fire any more.
    mutating func resettle(_ job: StoredJob) throws {
        try orHold(job) { writer, job in
            try writer.removeClaim(of: &job)
            try writer.settleAndPut(job)
        }
    }

    /// Fires the job now, out of turn; a one-shot is finished by it.
    ///
    /// `busy`: what is in progress of the job; its overlap policy decides.
    mutating func fireNow(
        _ id: JobID,
        caller: Caller,
        unstarted: Set<FireID>,
        busy: BusyJob?
    ) throws -> FireByHand {
        guard var job = try job(id, for: caller) else { throw ControlError.noJob(id) }
        guard job.state.isLive else {
            throw ControlError(
                .conflict,
                "job \(id) is \(job.state); it fires no more"
            )
        }
        try requireNotHeld(job)
        let mustWait = try busy?.mustWait(job) ?? false
        let now = moment.reading(of: job.clock)
        try database.prepare(SQL.insertManual).run(
            id,
            job.ownerID,
            now,
            moment.wall
        )
        guard database.changes == 1 else {
            throw ControlError(.conflict, "job \(id) fires at this moment")
        }
        job.uncut += 1
        let fire = FireID(rawValue: database.lastInsertRowID)
        var run: RunID?
        if job.definition.command != nil, !mustWait {
            run = try prepareRun(of: id, fire: fire, attempt: 1)
        }
        job.fires += 1
        if job.isOneShot {
            try takeBack(&job, unstarted)
            // This is its date now.
            job.schedule = job.schedule.movingGrid(to: now)
            try end(&job, .finished, .fired)
        } else if let count = job.policy.count, job.fires >= count {
            try takeBack(&job, unstarted)
            try end(&job, .finished, .count)
        }
        try put(job)
        return FireByHand(job: job, fire: fire, date: moment.wall, run: run)
    }

    /// Records the effect of a fire by hand, which leaves the job as it is.
    mutating func recordManual(_ begun: BegunFire, isWaiting: Bool = false) throws {
        try markFired(begun, isWaiting: isWaiting)
    }

    private mutating func markFired(_ begun: BegunFire, isWaiting: Bool) throws {
        let isRun = begun.job.definition.command != nil
        let state: Run.State = isWaiting ? .waiting : isRun ? .running : .fired
        let cause = isWaiting ? WaitingRun.Cause.run : nil
        try database.prepare(SQL.markFired).run(begun.fire, state, begun.firedAt, cause)
        for event in begun.events {
            if event.seq > 0 {
                try EventLog(database).insert(event)
            } else {
                try note(.fireFired, begun.job, event.reason, fire: begun.fire) { $0 = event }
            }
        }
    }
}

/// A fire that a user asked for, out of turn.
struct FireByHand: Sendable {
    /// As it stands since.
    var job: StoredJob
    var fire: FireID
    /// By the wall clock.
    var date: Timestamp
    /// Stored already, about to be started; nil for a job without a command, and for one whose run
    /// has to wait.
    var run: RunID?
}

/// A job with a fire in progress.
struct BusyJob: Hashable, Sendable {
    /// Nil between two attempts.
    var run: RunID?
    /// Whether another fire waits for its end.
    var isQueued: Bool

    /// Whether a fire by hand waits for what is in progress, by the job's overlap policy.
    ///
    /// - Throws: `conflict` where it would be skipped, which is not what who fires it wants.
    func mustWait(_ job: StoredJob) throws -> Bool {
        let what = run.map { "is running (run \($0))" } ?? "waits for its next attempt"
        switch job.policy.run.overlap {
        case .allow: return false
        case .replace: return true
        case .queue where !isQueued: return true
        case .queue:
            throw ControlError(
                .conflict,
                "job \(job.id) \(what), and one fire waits for that already"
            )
        case .skip:
            throw ControlError(.conflict, "job \(job.id) \(what); its runs do not overlap")
        }
    }
}

extension JobWriter.SQL {
    /// Where this waits for the event's number, the run may begin first, and be over.
    static let markFired = """
        UPDATE fires SET state = CASE state WHEN 'claimed' THEN ?2 ELSE state END,
            fired_at_us = ?3, waits_for = ?4
        WHERE id = ?1
        """
    static let markSkipped = """
        UPDATE fires SET state = 'skipped', reason = ?2 WHERE id = ?1
        """
    static let insertManual = """
        INSERT INTO fires (job_id, owner_id, fire_date_us, wall_date_us, state, reason)
        VALUES (?1, ?2, ?3, ?4, 'claimed', 'manual') ON CONFLICT (job_id, fire_date_us) DO NOTHING
        """
}

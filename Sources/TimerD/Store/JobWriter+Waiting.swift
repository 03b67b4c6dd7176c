// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A run that is stored as running: its command is to be started.
struct BegunCommand: Sendable {
    var run: RunID
    /// As it is now: it may have been changed since its fire began.
    var job: StoredJob
    var command: [String]
    /// What the command finds on its standard input; nil for the job's userInfo.
    var input: [UInt8]?
    /// When the fire's command began first, by the wall clock.
    var firedAt: Timestamp
}

/// Fires whose command is still to begin, or to begin again.
extension JobWriter {
    /// Stores that the command of a fire that has its place is about to be started; nil where it is not to
    /// be any more.
    ///
    /// The first time it is told as a fire.
    mutating func beginCommand(_ fire: CommandFire) throws -> BegunCommand? {
        // Dropped since, by what has ended the job or replaced the fire.
        guard try isWaiting(fire.id) else { return nil }
        // Who ends a job wants no further run of it, whatever its fires came to.
        guard var job = try job(fire.job.id), job.state != .invalidated else {
            try giveUp(fire.id)
            return nil
        }
        // What was known of it when its fire began, where it cannot be read any more.
        if job.unread != nil { job = fire.job }
        let command = fire.isOnFailure ? job.definition.onFailure : job.definition.command
        guard let command else {
            // What was to be done on a failure is not wanted any more.
            try giveUp(fire.id)
            return nil
        }
        let input = fire.isOnFailure ? try failure(of: fire.id, job) : nil
        // Its date had come, though the clock may have been set back since.
        let firedAt = fire.firedAt ?? max(moment.wall, fire.fireDate)
        try database.prepare(SQL.markBegun).run(fire.id, firedAt)
        try database.prepare(SQL.insertWaitingRun)
            .run(job.id, fire.id, fire.attempt, fire.isOnFailure ? 1 : 0)
        let run = RunID(rawValue: database.lastInsertRowID)
        if fire.firedAt == nil {
            try noteFired(
                fire.id,
                of: job,
                fireDate: fire.fireDate,
                missed: fire.missed,
                isByHand: fire.isByHand
            )
        }
        return BegunCommand(
            run: run,
            job: job,
            command: command,
            input: input,
            firedAt: firedAt
        )
    }

    /// Has the event of a fire told that has begun at this moment.
    mutating func noteFired(
        _ fire: FireID,
        of job: StoredJob,
        fireDate: Timestamp,
        missed: Int,
        isByHand: Bool,
        isRedelivery: Bool = false
    ) throws {
        let (firedAt, userInfo) = (max(moment.wall, fireDate), job.definition.userInfo)
        let reason = isByHand ? FireReason.manual.rawValue : nil
        try note(.fireFired, job, reason, fire: fire) {
            $0.fireDate = fireDate
            $0.firedAt = firedAt
            $0.userInfo = userInfo
            $0.missed = missed > 0 ? missed : nil
            $0.redelivered = isRedelivery ? true : nil
        }
    }

    private func isWaiting(_ fire: FireID) throws -> Bool {
        try database.prepare(SQL.fireState).first(fire) { try $0.get(0, as: Run.State.self) }
            == .waiting
    }

    /// Stores that a fire that waits has come to wait for a place; nothing where it was dropped since.
    func waitForPlace(_ fire: FireID) throws {
        if try isWaiting(fire) { try wait(fire, for: .place, until: nil) }
    }

    /// Takes back a run that was not started after all: the next daemon starts it; nothing where what has
    /// ended the job has closed it since.
    func waitAgain(_ command: RunningCommand) throws {
        try database.prepare(SQL.deleteOpenRun).run(command.run)
        guard database.changes == 1 else { return }
        let fire = command.fire
        try wait(
            fire.id,
            for: fire.isOnFailure ? .onFailure : fire.attempt > 1 ? .retry : .place,
            until: nil
        )
    }

    /// Stores that a fire waits; `until` by the wall clock, nil for no time.
    func wait(_ fire: FireID, for wait: Run.Wait, until: Timestamp?) throws {
        try database.prepare(SQL.markWaiting).run(fire, wait, until)
    }

    /// Drops a fire that waits and is not wanted any more.
    private mutating func giveUp(_ fire: FireID) throws {
        let job = try database.prepare(SQL.jobOfFire).first(fire) { try $0.get(0, as: JobID.self) }
        guard let job, var job = try self.job(job) else { return }
        let fires = job.fires
        try giveUp(fire, of: &job)
        if job.fires != fires { try put(job) }
    }

    /// Drops a job's fires that wait, or were not started: nothing of a job that was ended begins; `put`
    /// writes the job.
    ///
    /// `areReplaced`: a newer fire is to come in their place, and what is done because one failed stays.
    mutating func dropFires(of job: inout StoredJob, areReplaced: Bool = false) throws {
        let open = try database.prepare(SQL.droppableFires).all(job.id, areReplaced) { row in
            (fire: try row.get(0, as: FireID.self), state: try row.get(1, as: Run.State.self))
        }
        for (fire, state) in open where fire != job.claim?.fire {
            if state == .waiting {
                try giveUp(fire, of: &job)
            } else if unstarted.contains(fire) {
                try withdrawRun(of: fire, job)
            }
        }
    }

    /// Closes the run of a fire that was told, and whose command was not started after all.
    private mutating func withdrawRun(of fire: FireID, _ job: StoredJob) throws {
        let left = try database.prepare(SQL.openRunOfFire).first(fire) { row in
            (
                run: try row.get(0, as: RunID.self), attempt: try row.get(1, as: Int.self),
                date: try row.get(2, as: Timestamp.self),
                isOnFailure: try row.get(3, as: Bool.self)
            )
        }
        guard let left else { return }
        let ended = EndedRun(
            fire: fire,
            fireDate: left.date,
            attempt: left.attempt,
            isOnFailure: left.isOnFailure,
            outcome: .notStarted(StartRefusal.withdrawn.message),
            startedAt: nil,
            endedAt: moment.wall,
            output: CapturedOutput()
        )
        try recordFinished(left.run, of: job, ended)
    }

    /// Skipped where its command never began, else done.
    private mutating func giveUp(_ fire: FireID, of job: inout StoredJob) throws {
        let row = try database.prepare(SQL.waitingFire).first(fire) { row in
            (
                date: try row.get(0, as: Timestamp.self), wasBegun: try row.get(1, as: Bool.self),
                isByHand: try row.get(2, as: Bool.self)
            )
        }
        guard let row else { return }
        guard !row.wasBegun else {
            try database.prepare(SQL.markDone).run(fire)
            return
        }
        let reason: FireReason =
            row.isByHand ? .withdrawn : job.state == .invalidated ? .invalidated : .overlap
        try database.prepare(SQL.markSkipped).run(fire, reason)
        job.fires -= 1
        try note(.fireSkipped, job, reason.rawValue, fire: fire) { $0.fireDate = row.date }
    }

    /// The failed run as `onFailure` is told of it: as on the wire, with the job's name.
    private func failure(of fire: FireID, _ job: StoredJob) throws -> [UInt8] {
        let run = try database.prepare(SQL.lastRun).first(fire) { RunRow.run(from: $0).run }
        guard case .object(var members)? = try run.map({ try JSONValue(encoding: $0) }) else {
            return []
        }
        if let name = job.definition.name { members["name"] = .string(name) }
        return JSONValue.object(members).jsonBytes
    }
}

extension JobWriter.SQL {
    static let markWaiting = """
        UPDATE fires SET state = 'waiting', waits_for = ?2, waits_until_us = ?3 WHERE id = ?1
        """
    /// The first time it has fired by that.
    static let markBegun = """
        UPDATE fires SET state = 'running', waits_for = NULL, fired_at_us = coalesce(fired_at_us, ?2)
        WHERE id = ?1
        """
    static let insertWaitingRun = """
        INSERT INTO runs (job_id, fire_id, attempt, is_on_failure) VALUES (?1, ?2, ?3, ?4)
        """
    static let deleteOpenRun = "DELETE FROM runs WHERE id = ?1 AND outcome IS NULL"
    static let openRunOfFire = """
        SELECT runs.id, runs.attempt, fires.wall_date_us, runs.is_on_failure
        FROM runs JOIN fires ON fires.id = runs.fire_id
        WHERE runs.fire_id = ?1 AND runs.outcome IS NULL
        """
    static let jobOfFire = "SELECT job_id FROM fires WHERE id = ?1"
    /// Uses the index of UNIQUE (job_id, fire_date_us): a job's fires are few.
    static let droppableFires = """
        SELECT id, state FROM fires
        WHERE job_id = ?1 AND (state = 'waiting' OR state = 'running') AND (
            ?2 = 0 OR waits_for IS NOT 'onFailure' AND NOT EXISTS (SELECT 1 FROM runs
                WHERE runs.fire_id = fires.id AND runs.outcome IS NULL AND runs.is_on_failure = 1))
        ORDER BY id
        """
    static let waitingFire = """
        SELECT wall_date_us, fired_at_us IS NOT NULL, reason IS 'manual' FROM fires
        WHERE id = ?1 AND state = 'waiting'
        """
    static let lastRun = """
        SELECT \(RunRow.columns), fires.id FROM \(RunRow.source)
        WHERE fires.id = ?1 AND runs.is_on_failure = 0 ORDER BY runs.id DESC LIMIT 1
        """
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A run that is stored as running, and its command.
struct BegunWaiting: Sendable {
    var run: RunID
    /// As it is now: it may have been changed since its fire began.
    var job: StoredJob
    var command: [String]
    /// What the command finds on its standard input; nil for the job's userInfo.
    var input: [UInt8]?
}

/// Fires that have begun and whose command is still to run, or to run again.
extension JobWriter {
    /// Stores that the command is about to be started; nil where it is not to be any more.
    mutating func beginWaiting(_ waiting: WaitingRun) throws -> BegunWaiting? {
        // Who ends a job wants no further run of it, whatever its fires came to.
        guard var job = try job(waiting.job.id), job.state != .invalidated else {
            try giveUp(waiting.fire)
            return nil
        }
        // What was known of it when its fire began, where it cannot be read any more.
        if job.unread != nil { job = waiting.job }
        var input: [UInt8]?
        let command: [String]?
        if waiting.cause == .onFailure {
            command = job.definition.onFailure
            input = try failure(of: waiting.fire, job)
        } else {
            command = job.definition.command
        }
        guard let command else {
            // What was to be done on a failure is not wanted any more.
            try giveUp(waiting.fire)
            return nil
        }
        try database.prepare(SQL.markRunning).run(waiting.fire)
        let isOnFailure = waiting.cause == .onFailure ? 1 : 0
        try database.prepare(SQL.insertWaitingRun)
            .run(job.id, waiting.fire, waiting.attempt, isOnFailure)
        let run = RunID(rawValue: database.lastInsertRowID)
        return BegunWaiting(run: run, job: job, command: command, input: input)
    }

    /// Takes back a run that was not started after all: the next daemon starts it.
    func waitAgain(_ waiting: WaitingRun, _ run: RunID) throws {
        try database.prepare(SQL.deleteRun).run(run)
        try wait(waiting.fire, for: waiting.cause, until: nil)
    }

    /// Stores that a fire waits; `until` by the wall clock, nil for no time.
    func wait(_ fire: FireID, for cause: WaitingRun.Cause, until: Timestamp?) throws {
        try database.prepare(SQL.markWaiting).run(fire, cause, until)
    }

    /// Drops a fire that waits: skipped where it had no run at all, else done.
    mutating func giveUp(_ fire: FireID) throws {
        let row = try database.prepare(SQL.waitingFire).first(fire) { row in
            (
                job: try row.get(0, as: JobID.self), date: try row.get(1, as: Timestamp.self),
                runs: try row.get(2, as: Int.self)
            )
        }
        guard let row, let job = try job(row.job) else { return }
        guard row.runs == 0 else {
            try database.prepare(SQL.markDone).run(fire)
            return
        }
        let reason = job.state == .invalidated ? FireReason.invalidated : .overlap
        try database.prepare(SQL.markSkipped).run(fire, reason)
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

extension WaitingRun.Cause: SQLWord {}

extension JobWriter.SQL {
    static let markWaiting = """
        UPDATE fires SET state = 'waiting', waits_for = ?2, waits_until_us = ?3 WHERE id = ?1
        """
    static let insertWaitingRun = """
        INSERT INTO runs (job_id, fire_id, attempt, is_on_failure) VALUES (?1, ?2, ?3, ?4)
        """
    static let deleteRun = "DELETE FROM runs WHERE id = ?1"
    static let waitingFire = """
        SELECT job_id, wall_date_us, (SELECT count(*) FROM runs WHERE fire_id = fires.id)
        FROM fires WHERE id = ?1 AND state = 'waiting'
        """
    static let lastRun = """
        SELECT \(RunRow.columns), fires.id FROM \(RunRow.source)
        WHERE fires.id = ?1 AND runs.is_on_failure = 0 ORDER BY runs.id DESC LIMIT 1
        """
}

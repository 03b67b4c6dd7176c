// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// The rows of runs and of what they wrote: SQL alone, no decision.
struct RunStore {
    let database: Database

    init(_ database: Database) { self.database = database }

    /// Stores that an attempt of a fire is about to begin.
    func insert(
        of job: JobID,
        _ fire: FireID,
        attempt: Int,
        handler: RunHandler? = nil,
        at place: RunPlace
    ) throws -> RunID {
        try database.prepare(SQL.insert).run {
            $0.add(job)
            $0.add(fire)
            $0.add(attempt)
            $0.add(handler?.rawValue ?? 0)
            $0.add(place.node)
            $0.add(place.runner)
        }
        return RunID(rawValue: database.lastInsertRowID)
    }

    /// Stores that an attempt at a task has begun.
    func insertStarted(of job: JobID, _ fire: FireID, attempt: Int, at date: Timestamp) throws
        -> RunID
    {
        try database.prepare(SQL.insertStarted).run {
            $0.add(job)
            $0.add(fire)
            $0.add(attempt)
            $0.add(date)
        }
        return RunID(rawValue: database.lastInsertRowID)
    }

    func markStarted(_ run: RunID, pid: Int32, at date: Timestamp) throws {
        try database.prepare(SQL.markStarted).run {
            $0.add(run)
            $0.add(pid)
            $0.add(date)
        }
    }

    /// Notes of the runs that have no end yet that they may have begun: a runner that does not know them says nothing of that.
    func forgetRunners() throws { try database.prepare(SQL.forgetRunners).run() }

    /// Notes how many processes of a run in progress those who end it could not end.
    func markSurvivors(_ run: RunID, _ count: Int) throws {
        try database.prepare(SQL.markSurvivors).run(run, count)
    }

    /// Notes that a run in progress is not tried again.
    func markStopped(_ run: RunID, _ stop: RunStop) throws {
        try database.prepare(SQL.markStopped).run(run, stop.stored)
    }

    /// Notes who has told a run in progress to end, as that is stored, where somebody else was refused; nil for nobody.
    func restateStop(_ run: RunID, _ stop: Int?) throws {
        try database.prepare(SQL.restateStop).run(run, stop)
    }

    /// `failureOf`: whose failure it is; nil where it is none.
    func markFinished(_ run: RunID, _ ended: EndedRun, failureOf owner: OwnerID?) throws {
        let (outcome, code, _) = ended.outcome.columns
        // What never began may have been withdrawn for other reasons.
        let wasStarted = ended.outcome.wasStarted
        let isStopped = ended.isStopped && wasStarted
        let stopped = isStopped ? ended.stoppedBy?.stored ?? RunStop.storedUnknown : nil
        try database.prepare(SQL.markFinished).run {
            $0.add(run)
            $0.add(outcome)
            $0.add(code.map(Int64.init))
            $0.add(ended.error)
            $0.add(ended.startedAt)
            $0.add(ended.endedAt)
            $0.add(ended.usage?.userMicroseconds)
            $0.add(ended.usage?.systemMicroseconds)
            $0.add(ended.usage?.peakMemory)
            $0.add(ended.survivors.isEmpty ? nil : ended.survivors.count)
            $0.add(owner)
            $0.add(Self.orNil(ended.output.total(of: .stdout)))
            $0.add(Self.orNil(ended.output.total(of: .stderr)))
            $0.add(stopped)
            // It ended before it could be told to.
            $0.add(wasStarted && !ended.isStopped)
        }
    }

    private static func orNil(_ count: Int) -> Int? { count == 0 ? nil : count }

    /// Stores what is kept of the run's output; returns whether that is any.
    ///
    /// Where its end has come without it, what a daemon before may have stored of it stays: there is no more of it. Not so where
    /// none of it is to be kept.
    func insertOutput(_ ended: EndedRun, of run: RunID, owner: OwnerID) throws -> Bool {
        let parts = OutputPart.parts(of: ended.output, orAt: ended.endedAt.microseconds)
        guard !parts.isEmpty else {
            let isLeftOut = StandardStream.allCases.contains { ended.output.total(of: $0) > 0 }
            if isLeftOut { _ = try deleteOutput(of: run, limit: .max) }
            return false
        }
        try insertOutput(parts, from: 0, of: run, owner: owner)
        return true
    }

    /// Stores some parts of a run's output, which have these numbers.
    ///
    /// With the first of all, nothing stays of what a daemon before may have stored of it.
    func insertOutput(_ parts: [OutputPart], from first: Int, of run: RunID, owner: OwnerID) throws
    {
        if first == 0 { _ = try deleteOutput(of: run, limit: .max) }
        for (number, part) in zip(first..., parts) {
            try database.prepare(SQL.insertOutput).run {
                $0.add(run)
                $0.add(number)
                $0.add(owner)
                $0.add(part.end.stdout)
                $0.add(part.end.stderr)
                $0.add(part.kept.stdout)
                $0.add(part.kept.stderr)
                $0.add(part.bytes)
            }
        }
    }

    /// Notes of a run that was to be run again that it is not: it has failed.
    func markFailed(_ run: RunID, of owner: OwnerID) throws {
        try database.prepare(SQL.markFailed).run(run, owner)
    }

    /// Ends the runs of a job that have no end, as interrupted: failures of its owner.
    func interrupt(of job: JobID, _ owner: OwnerID, at date: Timestamp) throws {
        try database.prepare(SQL.interruptOfJob).run(job, date, owner)
    }

    // MARK: - Reading

    /// The run of a fire that has no end yet, with the fire's date by the wall clock.
    func open(of fire: FireID) throws -> (
        run: RunID, attempt: Int, date: Timestamp, handler: RunHandler?
    )? {
        try database.prepare(SQL.openOfFire).first(fire) {
            (try $0.get(0), try $0.get(1), try $0.get(2), RunHandler(rawValue: try $0.get(3)))
        }
    }

    /// The runs of a fire that have no end yet; of each, whether its start is stored, where it was asked for, and whether
    /// it is not tried again.
    func inProgress(of fire: FireID) throws -> [(
        run: RunID, attempt: Int, handler: RunHandler?, isStarted: Bool, place: RunPlace,
        isStopped: Bool, stoppedBy: RunStop?, startedAt: Timestamp?
    )] {
        try database.prepare(SQL.inProgressOfFire).all(fire) {
            (
                try $0.get(0), try $0.get(1), RunHandler(rawValue: try $0.get(2)), try $0.get(3),
                RunPlace(node: try $0.get(4), runner: $0.ifReadable(5)), try $0.get(6),
                RunStop(stored: try $0.get(7)), $0.ifReadable(8)
            )
        }
    }

    /// Whether there is such a run, and it has no end yet.
    func isOpen(_ run: RunID) throws -> Bool {
        try database.prepare(SQL.isOpen).value(run) ?? false
    }

    /// Whether it is stored of a run that it was told to end, or is about to be.
    func isStopped(_ run: RunID) throws -> Bool {
        try database.prepare(SQL.isStopped).value(run) ?? false
    }

    /// Whether there is such a run, in progress or over.
    func isKnown(_ run: RunID) throws -> Bool {
        try database.prepare(SQL.isKnown).value(run) ?? false
    }

    /// The number of the fire's last attempt; 0 for none.
    func attempts(of fire: FireID) throws -> Int {
        try database.prepare(SQL.attempts).value(fire) ?? 0
    }

    /// How many attempts of the fire have failed.
    func failures(of fire: FireID) throws -> Int {
        try database.prepare(SQL.failures).value(fire) ?? 0
    }

    /// The fire's last attempt, as on the wire.
    func last(of fire: FireID) throws -> Run? {
        try database.prepare(SQL.last).first(fire) { RunRow.run(from: $0).run }
    }

    // MARK: - Removing

    /// Deletes a run that was not started; false if it has an end.
    func deleteOpen(_ run: RunID) throws -> Bool {
        try database.prepare(SQL.deleteOpen).run(run)
        return database.changes == 1
    }

    func delete(of fire: FireID) throws { try database.prepare(SQL.deleteOfFire).run(fire) }

    /// The oldest runs of a fire.
    func oldest(of fire: FireID, limit: Int) throws -> [RunID] {
        try database.prepare(SQL.oldestOfFire).all(fire, limit) { try $0.get(0) }
    }

    /// The oldest runs of a job.
    func oldest(of job: JobID, limit: Int) throws -> [RunID] {
        try database.prepare(SQL.oldestOfJob).all(job, limit) { try $0.get(0) }
    }

    func delete(_ run: RunID) throws { try database.prepare(SQL.delete).run(run) }

    /// Deletes the first parts of a run's output, `limit` at most; returns how many.
    func deleteOutput(of run: RunID, limit: Int) throws -> Int64 {
        try database.prepare(SQL.deleteOutput).run(run, limit)
        return database.changes
    }

    /// Deletes the oldest output of an owner, one part of one run; returns 1, or 0 if there was none.
    func deleteOldestOutput(of owner: OwnerID) throws -> Int64 {
        try database.prepare(SQL.deleteOldestOutput).run(owner)
        return database.changes
    }

    /// Forgets the errors of an owner's `count` oldest runs that have one that counts; returns whether there was any.
    func forgetOldestErrors(of owner: OwnerID, _ count: Int) throws -> Bool {
        try database.prepare(SQL.forgetOldestErrors).run(owner, count)
        return database.changes > 0
    }

    enum SQL {
        static let insert = """
            INSERT INTO runs (id, job_id, fire_id, attempt, handler, node, runner)
            VALUES (\(DaemonState.SQL.next("runs")), ?1, ?2, ?3, ?4, ?5, ?6)
            """
        static let insertStarted = """
            INSERT INTO runs (id, job_id, fire_id, attempt, started_at_us)
            VALUES (\(DaemonState.SQL.next("runs")), ?1, ?2, ?3, ?4)
            """
        static let markStarted = """
            UPDATE runs SET pid = ?2, started_at_us = ?3 WHERE id = ?1
            """
        static let forgetRunners = """
            UPDATE runs SET runner = NULL WHERE outcome IS NULL
                AND fire_id IN (
                    SELECT id FROM fires INDEXED BY fires_open WHERE \(RunRow.isOpen))
            """
        static let markSurvivors = """
            UPDATE runs SET survivors = ?2 WHERE id = ?1 AND outcome IS NULL
            """
        static let markStopped = """
            UPDATE runs SET stopped = coalesce(stopped, ?2) WHERE id = ?1 AND outcome IS NULL
            """
        static let restateStop = """
            UPDATE runs SET stopped = ?2 WHERE id = ?1 AND outcome IS NULL
            """
        static let markFinished = """
            UPDATE runs SET outcome = ?2, code = ?3, error = ?4,
                started_at_us = coalesce(?5, started_at_us), ended_at_us = ?6,
                user_us = ?7, system_us = ?8, peak_memory_bytes = ?9, survivors = ?10,
                failed_owner_id = ?11, stdout_bytes = ?12, stderr_bytes = ?13,
                stopped = CASE WHEN ?15 THEN NULL ELSE coalesce(stopped, ?14) END
            WHERE id = ?1
            """
        static let markFailed = "UPDATE runs SET failed_owner_id = ?2 WHERE id = ?1"
        static let insertOutput = """
            INSERT INTO run_output (run_id, part, owner_id, stdout_end, stderr_end, stdout_kept,
                stderr_kept, bytes)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """
        static let interruptOfJob = """
            UPDATE runs SET outcome = 'interrupted', ended_at_us = ?2, failed_owner_id = ?3
            WHERE job_id = ?1 AND outcome IS NULL
            """
        static let openOfFire = """
            SELECT runs.id, runs.attempt, fires.wall_date_us, runs.handler
            FROM runs JOIN fires ON fires.id = runs.fire_id
            WHERE runs.fire_id = ?1 AND runs.outcome IS NULL
            """
        static let inProgressOfFire = """
            SELECT id, attempt, handler, pid IS NOT NULL, node, runner, stopped IS NOT NULL,
                stopped, started_at_us
            FROM runs WHERE fire_id = ?1 AND outcome IS NULL
            """
        static let isOpen = "SELECT ended_at_us IS NULL FROM runs WHERE id = ?1"
        static let isStopped = "SELECT stopped IS NOT NULL FROM runs WHERE id = ?1"
        static let isKnown = "SELECT 1 FROM runs WHERE id = ?1"
        static let attempts = """
            SELECT coalesce(max(attempt), 0) FROM runs WHERE fire_id = ?1 AND handler = 0
            """
        static let failures = """
            SELECT count(*) FROM runs
            WHERE fire_id = ?1 AND handler = 0 AND failed_owner_id IS NOT NULL
            """
        static let last = """
            SELECT \(RunRow.columns), fires.id FROM \(RunRow.source)
            WHERE fires.id = ?1 AND runs.handler = 0 ORDER BY runs.id DESC LIMIT 1
            """
        static let deleteOpen = "DELETE FROM runs WHERE id = ?1 AND outcome IS NULL"
        static let deleteOfFire = "DELETE FROM runs WHERE fire_id = ?1"
        static let oldestOfFire = "SELECT id FROM runs WHERE fire_id = ?1 ORDER BY id LIMIT ?2"
        static let oldestOfJob = "SELECT id FROM runs WHERE job_id = ?1 ORDER BY id LIMIT ?2"
        static let delete = "DELETE FROM runs WHERE id = ?1"
        static let deleteOutput = """
            DELETE FROM run_output WHERE rowid IN (
                SELECT rowid FROM run_output WHERE run_id = ?1 ORDER BY part LIMIT ?2)
            """
        /// Uses run_output_by_owner.
        static let deleteOldestOutput = """
            DELETE FROM run_output WHERE rowid IN (
                SELECT rowid FROM run_output WHERE owner_id = ?1 ORDER BY run_id, part LIMIT 1)
            """
        static let forgetOldestErrors = """
            UPDATE runs SET error = NULL WHERE id IN (
                SELECT id FROM runs INDEXED BY runs_with_error
                WHERE failed_owner_id = ?1 AND length(CAST(error AS BLOB)) > 32
                ORDER BY id LIMIT ?2)
            """
    }
}

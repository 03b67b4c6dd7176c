// SPDX-License-Identifier: Apache-2.0

import SQLite
import TimerControl

/// Fires that were dropped, any number of them by one statement, and that are not closed yet: their end is still to be stored
/// and told.
///
/// Such a fire is in state `waiting` and waits for nothing: its `waits_for` is NULL. So nothing of it begins any more, whatever
/// becomes of its job, and a start finds it. Its reason is already the one that it will be skipped for; a fire whose command
/// has begun keeps its own, for it will be done. Where a notice is to be told of its end, which neither says, `waits_until_us`
/// is not NULL, and 0 where its job's handler of failures is to begin as well.
///
/// A task that was taken from its worker is such a fire, too, and the only one of which a run has no end: see
/// `TaskStore.revoke`.
extension FireStore {
    /// Drops the job's fires that wait, for `reason`; returns how many of them its `fires` counts, and is to count no more.
    ///
    /// With `replaced` fires stay whose handler waits. With `changed` fires that were to be tried again have failed for good:
    /// a notice tells of them.
    func drop(of job: JobID, _ reason: FireReason) throws -> Int {
        let counted: Int = try database.prepare(SQL.countNotBegun).value(job) ?? 0
        try database.prepare(SQL.drop).run(job, reason)
        return counted
    }

    /// Drops the job's fires whose next attempt was to come, which have failed for good: a notice tells of them.
    ///
    /// - Returns: which these were, the oldest first.
    func dropAttempts(of job: JobID) throws -> [FireID] {
        let fires: [FireID] = try database.prepare(SQL.attempts).all(job) { try $0.get(0) }
        if !fires.isEmpty { try database.prepare(SQL.dropAttempts).run(job) }
        return fires
    }

    /// Marks a fire as dropped whose next attempt was about to begin.
    func dropAttempt(of fire: FireID) throws { try database.prepare(SQL.dropAttempt).run(fire) }

    /// Marks the job's fires in state `running`: the job has another command now, so they have no further attempt.
    ///
    /// The mark is a `waits_until_us` of 0, which no wait has.
    func markOvertaken(of job: JobID) throws { try database.prepare(SQL.markOvertaken).run(job) }

    /// Whether its job has another command than the fire in state `running` has begun with.
    func isOvertaken(_ fire: FireID) throws -> Bool {
        try database.prepare(SQL.isOvertaken).value(fire, as: Bool.self) == true
    }

    /// The fires of all jobs that were dropped and are not closed, the oldest first; not those whose job cannot be read.
    func dropped() throws -> [(fire: FireID, job: JobID)] {
        try database.prepare(SQL.dropped).all { row -> (FireID, JobID)? in
            guard let job: JobID = row.ifReadable(1) else { return nil }
            return (try row.get(0), job)
        }.compactMap(\.self)
    }
}

extension TaskStore {
    /// The job's tasks that are not dead, the oldest first.
    func live(of job: JobID) throws -> [(fire: FireID, isReserved: Bool)] {
        try database.prepare(SQL.liveOfJob).all(job) { (try $0.get(0), try $0.get(1)) }
    }

    /// The job's tasks that no worker has, dead ones among them, the oldest first.
    func resting(of job: JobID) throws -> [FireID] {
        try database.prepare(SQL.restingOfJob).all(job) { try $0.get(0) }
    }

    /// Takes the job's tasks that no worker has out of their queue, and drops their fires, see `FireStore.drop`.
    ///
    /// With `replaced` dead ones stay.
    func drop(of job: JobID, _ reason: FireReason) throws {
        try database.prepare(SQL.dropFires).run(job, reason)
        try database.prepare(SQL.deleteDropped).run(job, reason)
    }

    /// Takes the job's tasks away from their workers, and drops their fires: the ends of their runs are still to be stored.
    ///
    /// `isReplaced`: because of a newer task, which a fire's `waits_until_us` says, and not because of the job's end.
    /// - Returns: the queues in which they were and whose names can be read.
    func revoke(of job: JobID, isReplaced: Bool) throws -> [String] {
        let queues: [String?] = try database.prepare(SQL.reservedQueues).all(job) {
            $0.ifReadable(0) as String?
        }
        try database.prepare(SQL.revokeFires).run(job, isReplaced)
        try database.prepare(SQL.deleteReserved).run(job)
        return queues.compactMap(\.self)
    }
}

extension FireStore.SQL {
    private static let isOfCommand = "waits_for <> 'onFailure' AND waits_for <> 'onSuccess'"
    /// Uses the index of UNIQUE (job_id, fire_date_us), as does the next.
    static let countNotBegun = """
        SELECT count(*) FROM fires
        WHERE job_id = ?1 AND \(RunRow.isWaiting) AND fired_at_us IS NULL AND uncounted IS NULL
        """
    static let drop = """
        UPDATE fires SET waits_for = NULL,
            waits_until_us = CASE
                WHEN ?2 = 'changed' AND fired_at_us IS NOT NULL AND \(isOfCommand) THEN 1 END,
            reason = CASE WHEN fired_at_us IS NOT NULL THEN reason
                WHEN reason IS NULL THEN ?2 ELSE 'withdrawn' END,
            uncounted = CASE WHEN fired_at_us IS NULL THEN 1 ELSE uncounted END
        WHERE job_id = ?1 AND \(RunRow.isWaiting) AND (?2 <> 'replaced' OR \(isOfCommand))
        """
    private static let isOfAttempt = """
        job_id = ?1 AND \(RunRow.isWaiting) AND \(isOfCommand)
            AND EXISTS (SELECT 1 FROM runs WHERE runs.fire_id = fires.id)
        """
    static let attempts = "SELECT id FROM fires WHERE \(isOfAttempt) ORDER BY id"
    static let dropAttempts = """
        UPDATE fires SET waits_for = NULL, waits_until_us = 0 WHERE \(isOfAttempt)
        """
    static let dropAttempt = """
        UPDATE fires SET state = 'waiting', waits_for = NULL, waits_until_us = 0 WHERE id = ?1
        """
    static let markOvertaken = """
        UPDATE fires SET waits_until_us = 0 WHERE job_id = ?1 AND state = 'running'
        """
    static let isOvertaken = "SELECT waits_until_us IS 0 FROM fires WHERE id = ?1"
    static let dropped = """
        SELECT id, job_id FROM fires INDEXED BY fires_open
        WHERE \(RunRow.isOpen) AND \(RunRow.isDropped) ORDER BY id
        """
}

extension TaskStore.SQL {
    private static let areDropped = """
        job_id = ?1 AND state <> 'reserved' AND (?2 <> 'replaced' OR state <> 'dead')
        """
    /// A notice tells of one by hand as of the others that were replaced, though its reason is `withdrawn`.
    static let dropFires = """
        UPDATE fires SET state = 'waiting', waits_for = NULL,
            waits_until_us = CASE WHEN ?2 = 'replaced' AND reason IS NOT NULL THEN 0 END,
            reason = CASE WHEN reason IS NULL THEN ?2 ELSE 'withdrawn' END
        WHERE id IN (SELECT fire_id FROM tasks WHERE \(areDropped))
        """
    static let deleteDropped = """
        DELETE FROM tasks INDEXED BY tasks_by_job WHERE \(areDropped)
        """
    static let liveOfJob = """
        SELECT fire_id, state = 'reserved' FROM tasks INDEXED BY tasks_live_by_job
        WHERE job_id = ?1 AND state <> 'dead' ORDER BY fire_id
        """
    static let restingOfJob = """
        SELECT fire_id FROM tasks INDEXED BY tasks_by_job
        WHERE job_id = ?1 AND state <> 'reserved' ORDER BY fire_id
        """
    /// In the words of the index, too: SQLite does not conclude that what is reserved is not dead.
    private static let areReserved = "job_id = ?1 AND state <> 'dead' AND state = 'reserved'"
    static let reservedQueues = """
        SELECT DISTINCT queue FROM tasks INDEXED BY tasks_live_by_job WHERE \(areReserved)
        """
    static let revokeFires = """
        UPDATE fires SET state = 'waiting', waits_for = NULL,
            waits_until_us = CASE WHEN ?2 THEN 0 END
        WHERE id IN (
            SELECT fire_id FROM tasks INDEXED BY tasks_live_by_job WHERE \(areReserved))
        """
    static let deleteReserved = """
        DELETE FROM tasks INDEXED BY tasks_live_by_job WHERE \(areReserved)
        """
}

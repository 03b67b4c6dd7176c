// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// The fires that are not over: claimed, waiting, running, or in a state that cannot be read.
///
/// Those of one job are found by the index of UNIQUE (job_id, fire_date_us), by a look at all that are kept of it: up to three
/// times `runsKept`.
extension FireStore {
    /// All of them, with their jobs, oldest first; not those that were dropped, nor those whose job cannot be read.
    func open() throws -> [(fire: FireID, job: JobID)] {
        try database.prepare(SQL.open).all { row -> (FireID, JobID)? in
            guard let job: JobID = row.ifReadable(1) else { return nil }
            return (try row.get(0), job)
        }.compactMap(\.self)
    }

    /// The same of one job, without a look at those of others.
    func open(of job: JobID) throws -> [(fire: FireID, job: JobID)] {
        try database.prepare(SQL.allOpenOfJob).all(job) { (try $0.get(0), job) }
    }

    /// Whether a fire of the job is not over, and was not dropped.
    func hasOpen(_ job: JobID) throws -> Bool {
        try database.prepare(SQL.openOfJob).value(job, as: FireID.self) != nil
    }

    /// Whether a fire of the job waits or runs, besides that one.
    func hasBegun(_ job: JobID, besides fire: FireID?) throws -> Bool {
        try database.prepare(SQL.hasBegun).value(job, fire, as: FireID.self) != nil
    }

    /// A fire that a daemon before this one left open.
    ///
    /// - Throws: for a column that cannot be read.
    func left(_ id: FireID) throws -> LeftFire? {
        try database.prepare(SQL.left).first(id) { row in
            LeftFire(
                id: id,
                job: try row.get(0),
                wallDate: try row.get(1),
                dueBy: try row.get(8),
                state: try row.get(2),
                missed: try row.get(3),
                firedAt: try row.get(4),
                waitsFor: try row.get(5),
                waitsUntil: try row.get(6),
                isByHand: try row.get(7, as: FireReason?.self) == .manual
            )
        }
    }

    // MARK: - Steps of the wall clock

    /// Has the claims of elapsed jobs say when they are due by a wall clock that was stepped: it is ahead of elapsed time by
    /// `offset` now.
    func followStep(claimsBy offset: TimeSpan) throws {
        let claims = try database.prepare(SQL.elapsedClaims).all { try $0.get(0, as: FireID.self) }
        for fire in claims {
            try unlessDamaged { try database.prepare(SQL.stepClaim).run(fire, offset) }
        }
    }

    /// The same of fires that wait for their next attempt, where the clock was stepped by `step` while no daemon ran.
    func followStep(retriesBy step: TimeSpan) throws {
        let waiting = try database.prepare(SQL.retries).all { try $0.get(0, as: FireID.self) }
        for fire in waiting {
            try unlessDamaged { try database.prepare(SQL.stepRetry).run(fire, step) }
        }
    }

    /// Stores when the fire's next attempt may begin, by the wall clock, if it waits for that.
    func setNextAttempt(of fire: FireID, _ date: Timestamp) throws {
        try unlessDamaged { try database.prepare(SQL.setNextAttempt).run(fire, date) }
    }

    /// Leaves a damaged row as it is: SQLite writes nothing of it, and whoever comes upon it says what is wrong.
    private func unlessDamaged(_ write: () throws -> Void) throws {
        do { try write() } catch let error as DatabaseError where error.isOfWrongType {}
    }

    /// The job's fires whose command runs or waits, each with its run in progress; not those whose
    /// handler runs or waits.
    ///
    /// A run that has not begun is left out, as it may begin under another number.
    func inProgress(of job: JobID) throws -> [(fire: FireID, wait: Run.Wait?, run: RunID?)] {
        try database.prepare(SQL.inProgress).all(job) {
            (try $0.get(0), try $0.get(1), try $0.get(2))
        }
    }

    /// The job's fires whose command runs or waits.
    ///
    /// `sparingHandlers`: without those whose handler runs or waits.
    func begun(of job: JobID, sparingHandlers: Bool) throws -> [(fire: FireID, state: Run.State)] {
        try database.prepare(SQL.begun).all(job, sparingHandlers) {
            (try $0.get(0), try $0.get(1))
        }
    }

    /// Whether the fire's command, or that handler of its job, is to begin, or to begin again.
    ///
    /// - Throws: for a state that cannot be read.
    func isWaiting(_ fire: FireID, for handler: RunHandler? = nil) throws -> Bool {
        try database.prepare(SQL.isWaiting).first(fire) { row in
            let (state, wait): (Run.State, Run.Wait?) = (try row.get(0), try row.get(1))
            guard state == .waiting, let wait else { return false }
            let isOfHandler = wait == .onFailure || wait == .onSuccess
            return isOfHandler ? wait == handler?.wait : handler == nil
        } ?? false
    }

    /// The fire, if its command waits or if it was dropped while its command waited; nil for any other.
    func waiting(_ fire: FireID) throws -> WaitingFire? {
        try database.prepare(SQL.waiting).first(fire) {
            WaitingFire(
                date: try $0.get(0),
                hasBegun: try $0.get(1),
                reason: $0.ifReadable(2),
                isCounted: try $0.get(3),
                isOfHandler: try $0.get(4),
                isDropped: try $0.get(5),
                isNoted: try $0.get(6),
                isHandled: try $0.get(7)
            )
        }
    }

    /// Marks the job's fires that wait as not counted in its `fires` any more.
    func beginCountAnew(of job: JobID) throws { try database.prepare(SQL.beginCountAnew).run(job) }

    func job(of fire: FireID) throws -> JobID? { try database.prepare(SQL.job).value(fire) }

    /// Closes the job's open fires for good: claims become skipped, because the job was held; the others
    /// become done, but those that were dropped, which are closed by that.
    func close(of job: JobID) throws {
        try database.prepare(SQL.closeClaims).run(job)
        try database.prepare(SQL.close).run(job)
    }

    // MARK: - Rows that cannot be read

    /// The fire with its runs, each as far as it can be read.
    func rows(of fire: FireID) throws -> [Run] {
        try database.prepare(SQL.rows).all(fire) { RunRow.run(from: $0).run }
    }

    /// The rows from which the job goes on: its claim, its open fires, and rows whose dates are no numbers
    /// and cannot be compared.
    func rowsToGoOnFrom(_ job: StoredJob) throws -> [Run] {
        try database.prepare(SQL.rowsToGoOnFrom).all(job.id, job.claim?.fire) {
            RunRow.run(from: $0).run
        }
    }
}

/// A fire in state `waiting`.
struct WaitingFire: Sendable {
    var date: Timestamp
    var hasBegun: Bool
    /// Whether it is by hand, or why it was dropped.
    var reason: FireReason?
    /// Whether it is one of its job's `fires`.
    var isCounted: Bool
    /// Whether it is its handler that waits.
    var isOfHandler: Bool
    /// Whether it was dropped, see `FireStore.drop`, and then whether a notice is due of it; of a task that was taken from its
    /// worker, whether a newer one has its place.
    var isDropped: Bool
    var isNoted: Bool
    /// Whether its job's handler of failures is to begin then.
    var isHandled: Bool

    /// What it is skipped for, where that is known already.
    var skipped: FireReason? { reason == .manual ? nil : reason }
}

extension FireStore.SQL {
    /// By fires_open, and sorted: SQLite would rather read all fires in this order.
    static let open = """
        SELECT id, job_id FROM fires INDEXED BY fires_open
        WHERE \(RunRow.isOpen) AND NOT \(RunRow.isDropped) ORDER BY id
        """
    /// By the index of UNIQUE (job_id, fire_date_us), as are `closeClaims` and `close`: of others any number may be open.
    static let allOpenOfJob = """
        SELECT id FROM fires
        WHERE job_id = ?1 AND \(RunRow.isOpen) AND NOT \(RunRow.isDropped) ORDER BY id
        """
    static let openOfJob = """
        SELECT id FROM fires
        WHERE job_id = ?1 AND \(RunRow.isUnfinished) AND NOT \(RunRow.isDropped) LIMIT 1
        """
    static let hasBegun = """
        SELECT id FROM fires
        WHERE job_id = ?1 AND (\(RunRow.isWaiting) OR state = 'running') AND id IS NOT ?2 LIMIT 1
        """
    static let left = """
        SELECT job_id, wall_date_us, state, missed, fired_at_us, waits_for, waits_until_us, reason,
            due_by_us
        FROM fires WHERE id = ?1
        """
    static let elapsedClaims = """
        SELECT id FROM fires
        WHERE \(RunRow.isOpen) AND state = 'claimed' AND reason IS NOT 'manual'
            AND (SELECT clock FROM jobs WHERE id = fires.job_id) = 'elapsed'
        """
    static let stepClaim = """
        UPDATE fires SET due_by_us = due_by_us + fire_date_us + ?2 - wall_date_us,
            wall_date_us = fire_date_us + ?2
        WHERE id = ?1
        """
    static let retries = """
        SELECT id FROM fires
        WHERE \(RunRow.isOpen) AND state = 'waiting' AND waits_for = 'retry' AND waits_until_us > 0
        """
    static let stepRetry = "UPDATE fires SET waits_until_us = waits_until_us + ?2 WHERE id = ?1"
    static let setNextAttempt = """
        UPDATE fires SET waits_until_us = ?2
        WHERE id = ?1 AND state = 'waiting' AND waits_for = 'retry' AND waits_until_us > 0
        """
    private static let runsHandler = """
        EXISTS (SELECT 1 FROM runs
            WHERE runs.fire_id = fires.id AND runs.outcome IS NULL AND runs.handler > 0)
        """
    static let inProgress = """
        SELECT id, waits_for, (SELECT max(runs.id) FROM runs
            WHERE runs.fire_id = fires.id AND runs.outcome IS NULL AND runs.pid IS NOT NULL)
        FROM fires
        WHERE job_id = ?1 AND (state = 'running' OR \(RunRow.isWaiting))
            AND coalesce(waits_for, '') NOT IN ('onFailure', 'onSuccess') AND NOT \(runsHandler)
        """
    static let begun = """
        SELECT id, state FROM fires
        WHERE job_id = ?1 AND (\(RunRow.isWaiting) OR state = 'running') AND (
            ?2 = 0 OR coalesce(waits_for, '') NOT IN ('onFailure', 'onSuccess') AND NOT \(runsHandler))
        ORDER BY id
        """
    static let isWaiting = "SELECT state, waits_for FROM fires WHERE id = ?1"
    static let waiting = """
        SELECT wall_date_us, fired_at_us IS NOT NULL, reason, uncounted IS NULL,
            coalesce(waits_for, '') IN ('onFailure', 'onSuccess'), waits_for IS NULL,
            waits_until_us IS NOT NULL, waits_until_us IS 0
        FROM fires WHERE id = ?1 AND state = 'waiting'
        """
    static let beginCountAnew = """
        UPDATE fires SET uncounted = 1 WHERE job_id = ?1 AND state = 'waiting'
        """
    static let job = "SELECT job_id FROM fires WHERE id = ?1"
    static let closeClaims = """
        UPDATE fires SET state = 'skipped', reason = 'held'
        WHERE job_id = ?1 AND state = 'claimed'
        """
    /// Writes no reason: one that cannot be read, SQLite would refuse to write over itself.
    static let close = """
        UPDATE fires
        SET state = 'done', failed = CASE state WHEN 'running' THEN 1 ELSE failed END
        WHERE job_id = ?1 AND \(RunRow.isOpen) AND NOT \(RunRow.isDropped)
        """
    static let rows = """
        SELECT \(RunRow.columns), fires.fire_date_us FROM \(RunRow.source) WHERE fires.id = ?1
        """
    static let rowsToGoOnFrom = """
        SELECT \(RunRow.columns), fires.fire_date_us FROM \(RunRow.source)
        WHERE fires.job_id = ?1 AND (fires.id = ?2 OR \(RunRow.isOpen)
            OR typeof(fires.fire_date_us) <> 'integer' OR typeof(fires.wall_date_us) <> 'integer'
            OR typeof(coalesce(fires.last_date_us, 0)) <> 'integer')
        ORDER BY fires.id, runs.id
        """
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What a request has ended, as it was before: SQL alone, no decision.
struct InvalidationStore {
    let database: Database

    init(_ database: Database) { self.database = database }

    /// A job before it was ended; dates are on its clock.
    struct Standing: Hashable, Sendable {
        /// When it was ended, in wall time.
        var endedAt: Timestamp
        /// Whether it was paused, other than for its owner's maintenance.
        var isPaused: Bool
        var fireDate: Timestamp?
        var movedFrom: Timestamp?
    }

    /// The job as it was; nil for one that no request has ended.
    func standing(of job: JobID) throws -> Standing? {
        try database.prepare(SQL.standing).first(job) {
            Standing(
                endedAt: try $0.get(0),
                isPaused: try $0.get(1),
                fireDate: try $0.get(2),
                movedFrom: try $0.get(3)
            )
        }
    }

    /// The jobs that the user's last request to end some has ended, at `date` or later, and that were not restored
    /// since.
    func last(by uid: UInt32, since date: Timestamp) throws -> [JobID] {
        try database.prepare(SQL.last).all(uid, date) { try $0.get(0) }
    }

    func insert(_ job: JobID, by uid: UInt32, _ standing: Standing) throws {
        try database.prepare(SQL.insert).run(
            job,
            uid,
            standing.endedAt,
            standing.isPaused,
            standing.fireDate,
            standing.movedFrom
        )
    }

    func delete(_ job: JobID) throws { try database.prepare(SQL.delete).run(job) }

    /// Makes a job's row that of one that has not ended; `JobStore.update` writes the rest.
    func forgetLastEvent(of job: JobID) throws {
        try database.prepare(SQL.forgetLastEvent).run(job)
    }

    enum SQL {
        static let standing = """
            SELECT at_us, paused, fire_date_us, moved_from_us FROM invalidations WHERE job_id = ?1
            """
        /// Uses invalidations_by_user.
        static let last = """
            SELECT job_id FROM invalidations
            WHERE by_uid = ?1 AND at_us >= ?2
                AND at_us = (SELECT max(at_us) FROM invalidations WHERE by_uid = ?1)
            ORDER BY job_id
            """
        static let insert = """
            INSERT OR REPLACE INTO invalidations
                (job_id, by_uid, at_us, paused, fire_date_us, moved_from_us)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """
        static let delete = "DELETE FROM invalidations WHERE job_id = ?1"
        static let forgetLastEvent = "UPDATE jobs SET last_seq = NULL WHERE id = ?1"
    }
}

// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// What a request has ended, as it was before.
extension JobStore {
    /// A job before it was ended; dates are on its clock.
    struct Standing: Hashable, Sendable {
        /// Whether it was paused, other than for its owner's maintenance.
        var isPaused: Bool
        var fireDate: Timestamp?
        var movedFrom: Timestamp?
    }

    /// The job as it was; nil for one that no request has ended.
    func standingBeforeEnd(of job: JobID) throws -> Standing? {
        try database.prepare(SQL.standingBeforeEnd).first(job) {
            Standing(
                isPaused: try $0.get(0),
                fireDate: try $0.get(1),
                movedFrom: try $0.get(2)
            )
        }
    }

    /// Stores how a job stands that the user's request is about to end.
    func keepForUndo(_ job: JobID, by uid: UInt32, _ standing: Standing) throws {
        try database.prepare(SQL.keepForUndo).run(
            job,
            uid,
            standing.isPaused,
            standing.fireDate,
            standing.movedFrom
        )
    }

    /// Makes the job's row that of one that has not ended; `update` writes the rest.
    func forgetEnd(of job: JobID) throws { try database.prepare(SQL.forgetEnd).run(job) }
}

extension JobStore.SQL {
    static let standingBeforeEnd = """
        SELECT undo_paused, undo_fire_date_us, undo_moved_from_us FROM jobs
        WHERE id = ?1 AND undo_uid IS NOT NULL
        """
    static let keepForUndo = """
        UPDATE jobs SET undo_uid = ?2, undo_paused = ?3, undo_fire_date_us = ?4,
            undo_moved_from_us = ?5
        WHERE id = ?1
        """
    static let forgetEnd = """
        UPDATE jobs SET last_seq = NULL, undo_uid = NULL, undo_paused = NULL,
            undo_fire_date_us = NULL, undo_moved_from_us = NULL
        WHERE id = ?1
        """
}

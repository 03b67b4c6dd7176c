// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// The oldest rows of fires, which make room for new ones.
extension FireStore {
    /// How many rows `oldest` reads.
    static let oldestLimit = 256

    /// The date of the job's newest row after its `newer` newest ones; nil if it has no more rows.
    func date(of job: JobID, behind newer: Int) throws -> Timestamp? {
        try database.prepare(SQL.dateBehind).value(job, newer)
    }

    /// The job's rows of dates after `start` and before `end`, on its clock, the oldest first.
    ///
    /// `sparingRuns`: a fire whose run is kept stays, too.
    func oldest(
        of job: JobID,
        after start: Timestamp,
        before end: Timestamp,
        sparingRuns: Bool
    ) throws -> [OldFire] {
        try database.prepare(SQL.oldestOfJob).all(job, start, end, sparingRuns) { row in
            OldFire(
                id: try row.get(0),
                dates: TakenDates(first: try row.get(1), last: try row.get(2)),
                kind: try row.get(3)
            )
        }
    }

    /// Turns the row of a fire into the range of dates whose rows have been removed.
    func becomeRange(_ fire: FireID) throws { try database.prepare(SQL.becomeRange).run(fire) }

    /// Stores how far a range of dates reaches.
    func setRange(_ fire: FireID, _ dates: TakenDates) throws {
        try database.prepare(SQL.setRange).run(fire, dates.last - dates.first)
    }

    /// The rows after `fire` in the order of their numbers, with the last date of each by the wall clock.
    func oldest(after fire: FireID, limit: Int) throws -> [(
        id: FireID, job: JobID, last: Timestamp, isOver: Bool
    )] {
        try database.prepare(SQL.oldest).all(fire, limit) { row in
            // A date that cannot be read is never too old: its row is removed with the job.
            let last = row.ifReadable(2) ?? Timestamp.distantFuture
            return (try row.get(0), try row.get(1), last, try row.get(3))
        }
    }
}

/// A row of a job's history that may have to go.
struct OldFire {
    enum Kind: String, SQLWord {
        /// It is not over, or its run is kept.
        case stays
        /// The range of dates whose rows have gone.
        case forgotten
        /// A fire by hand, which takes no date of the schedule.
        case byHand
        /// Skipped dates that fire if the clock is set back to before them.
        case leftOut
        /// Dates that had their fire, or were dropped by their user.
        case taken
    }

    var id: FireID
    /// On the job's clock.
    var dates: TakenDates
    var kind: Kind
}

extension FireStore.SQL {
    static let dateBehind = """
        SELECT fire_date_us FROM fires WHERE job_id = ?1
        ORDER BY fire_date_us DESC LIMIT 1 OFFSET ?2
        """
    static let oldestOfJob = """
        SELECT id, fire_date_us, fire_date_us + coalesce(last_date_us - wall_date_us, 0),
            CASE WHEN \(RunRow.isUnfinished) THEN 'stays'
                WHEN ?4 AND EXISTS (SELECT 1 FROM runs WHERE fire_id = fires.id AND handler = 0)
                    THEN 'stays'
                WHEN state = 'forgotten' THEN 'forgotten'
                WHEN reason = 'manual' OR reason = 'withdrawn' THEN 'byHand'
                WHEN state = 'skipped' AND \(FireReason.isOfDateToComeAgain) THEN 'leftOut'
                ELSE 'taken' END
        FROM fires WHERE job_id = ?1 AND fire_date_us > ?2 AND fire_date_us < ?3
        ORDER BY fire_date_us LIMIT \(FireStore.oldestLimit)
        """
    static let becomeRange = """
        UPDATE fires SET state = 'forgotten', reason = NULL, missed = 0, fired_at_us = NULL
        WHERE id = ?1
        """
    static let setRange = """
        UPDATE fires SET last_date_us = wall_date_us + ?2
        WHERE id = ?1 AND last_date_us IS NOT wall_date_us + ?2
        """
    static let oldest = """
        SELECT id, job_id, coalesce(last_date_us, wall_date_us),
            state = 'fired' OR state = 'done' OR state = 'skipped'
        FROM fires WHERE id > ?1 ORDER BY id LIMIT ?2
        """
}

// SPDX-License-Identifier: Apache-2.0

import SQLite
import TimerControl

/// Rows of jobs in which a column holds a value of another type, as only damage can put it there.
///
/// SQLite refuses each write of such a row, also one that leaves that column as it is: the job could not even be held.
extension JobStore {
    /// Carries out `write` on the job's row; where SQLite refuses that for the type of a value, mends the row first.
    func writing(_ id: JobID, _ write: () throws -> Void) throws {
        do {
            try write()
        } catch let error as DatabaseError where error.isOfWrongType {
            try database.prepare(SQL.mend).run(id)
            try write()
        }
    }
}

extension JobStore.SQL {
    /// A number that no column of a job can have: whoever reads it finds the row damaged, as it was.
    private static let unreadable = 1 << 62

    /// Gives each column a value of its type.
    ///
    /// Where nobody can know which it had, that is one that cannot be read either, so that the job stays held. What says nothing
    /// of its own is made anew: the date at which it is due; its claim, as the fire of its next date is found by that date; its
    /// owner, who is in its definition too; and which of its words events tell.
    static let mend = """
        UPDATE jobs SET
            owner_id = iif(typeof(owner_id) = 'integer', owner_id, coalesce((
                SELECT d.owner_id FROM job_definitions AS d
                WHERE d.job_id = jobs.id AND typeof(d.owner_id) = 'integer'), -1)),
            state = iif(\(isState), state, 'scheduled'),
            clock = iif(\(isClock), clock, 'wall'),
            rows_since_trim = iif(
                typeof(rows_since_trim) = 'integer' AND \(isState) AND \(isClock), rows_since_trim, \(unreadable)),
            anchor_us = \(date("anchor_us")),
            fire_date_us = \(date("fire_date_us")),
            due_us = iif(typeof(due_us) IN ('integer', 'null'), due_us, \(date("fire_date_us"))),
            moved_from_us = \(date("moved_from_us")),
            claim_id = \(orNull("claim_id")),
            fires = iif(typeof(fires) = 'integer', fires, \(unreadable)),
            ended_at_us = \(date("ended_at_us")),
            end_reason = CAST(end_reason AS TEXT),
            held = CAST(held AS TEXT),
            revision = iif(typeof(revision) = 'integer', revision, (
                SELECT coalesce(max(w.revision), 0) + 1 FROM event_words AS w WHERE w.job_id = jobs.id)),
            last_seq = \(orNull("last_seq")),
            zone_rules_id = \(orNull("zone_rules_id")),
            maintenance = iif(typeof(maintenance) = 'integer', maintenance, 0),
            undo_uid = \(orNull("undo_uid")),
            undo_paused = \(orNull("undo_paused")),
            undo_fire_date_us = \(orNull("undo_fire_date_us")),
            undo_moved_from_us = \(orNull("undo_moved_from_us"))
        WHERE id = ?1
        """

    private static let isState =
        "coalesce(state IN ('scheduled', 'finished', 'paused', 'invalidated'), 0)"
    private static let isClock = "coalesce(clock IN ('wall', 'elapsed'), 0)"

    private static func date(_ column: String) -> String {
        "iif(typeof(\(column)) IN ('integer', 'null'), \(column), \(unreadable))"
    }

    private static func orNull(_ column: String) -> String {
        "iif(typeof(\(column)) = 'integer', \(column), NULL)"
    }
}

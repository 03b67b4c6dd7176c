// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// What a user's requests have ended.
extension Queries {
    /// A piece of a look at ended jobs, the last to end first.
    struct EndedPiece: Sendable {
        /// When the user's last request to end jobs has ended some of this piece; nil where none has.
        var endedAt: Timestamp?
        /// Nil after the last piece.
        var next: EndedCursor?
    }

    /// Looks for the user's last request to end jobs, among those that ended at `date` or later.
    ///
    /// `owner`: the only one whose jobs that can be; nil for all.
    func lastEnd(
        by uid: UInt32,
        of owner: OwnerID?,
        since date: Timestamp,
        after cursor: EndedCursor,
        limit: Int
    ) throws -> EndedPiece {
        func read(_ row: borrowing Row) throws -> (cursor: EndedCursor, uid: UInt32?) {
            (EndedCursor(endedAt: try row.get(0), job: try row.get(1)), try row.get(2))
        }
        let rows =
            if let owner {
                try database.prepare(SQL.endedOfOwner)
                    .all(cursor.endedAt, cursor.job, date, limit, owner) { try read($0) }
            } else {
                try database.prepare(SQL.ended)
                    .all(cursor.endedAt, cursor.job, date, limit) { try read($0) }
            }
        return EndedPiece(
            endedAt: rows.first { $0.uid == uid }?.cursor.endedAt,
            next: rows.count == limit ? rows.last?.cursor : nil
        )
    }

    /// What the user's request has ended that was carried out at `date`, and has not been restored since.
    ///
    /// Without the jobs that it has replaced, which nothing brings back: these alone where it has ended no others.
    func ended(by uid: UInt32, at date: Timestamp) throws -> [JobID] {
        func read(_ row: borrowing Row) throws -> (job: JobID, isReplaced: Bool) {
            (try row.get(0), try row.get(1))
        }
        let jobs = try database.prepare(SQL.endedAt).all(date, uid) { try read($0) }
        let others = jobs.filter { !$0.isReplaced }
        return (others.isEmpty ? jobs : others).map { $0.job }
    }
}

extension Queries.SQL {
    /// Uses jobs_ended.
    static let ended = """
        SELECT ended_at_us, id, undo_uid FROM jobs
        WHERE (ended_at_us, id) < (?1, ?2) AND ended_at_us >= ?3
        ORDER BY ended_at_us DESC, id DESC LIMIT ?4
        """
    /// Uses jobs_ended_by_owner.
    static let endedOfOwner = """
        SELECT ended_at_us, id, undo_uid FROM jobs
        WHERE owner_id = ?5 AND (ended_at_us, id) < (?1, ?2) AND ended_at_us >= ?3
        ORDER BY ended_at_us DESC, id DESC LIMIT ?4
        """
    /// Uses jobs_ended.
    static let endedAt = """
        SELECT id, end_reason IS 'replaced' FROM jobs
        WHERE ended_at_us = ?1 AND undo_uid = ?2 ORDER BY id
        """
}

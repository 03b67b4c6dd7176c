// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// What a user's requests have ended.
extension Queries {
    /// What one request of a user has ended.
    struct End: Hashable, Sendable {
        var endedAt: Timestamp
        /// The least of the numbers that its jobs' last events have: grows from request to request, wherever the clock is put.
        ///
        /// The largest of all while nobody has been told of them.
        var number: Int64
    }

    /// A piece of a look at ended jobs, the last to end by the clock first.
    struct EndedPiece: Sendable {
        /// What the user's requests have ended of this piece, up to the first that has ended by now.
        var ends: [End] = []
        /// Nil after the last piece.
        var next: EndedCursor?
    }

    /// Looks for the user's last request to end jobs, among those that ended at `date` or later: it is that which has
    /// ended last by `now`, or one that a clock has put behind that which was ahead.
    ///
    /// `owner`: the only one whose jobs that can be; nil for all.
    func lastEnd(
        by uid: UInt32,
        of owner: OwnerID?,
        since date: Timestamp,
        at now: Timestamp,
        after cursor: EndedCursor,
        limit: Int
    ) throws -> EndedPiece {
        typealias Ended = (cursor: EndedCursor, uid: UInt32?, number: Int64?)
        func read(_ row: borrowing Row) throws -> Ended {
            let cursor = EndedCursor(endedAt: try row.get(0), job: try row.get(1))
            return (cursor, try row.get(2), try row.get(3))
        }
        let rows =
            if let owner {
                try database.prepare(SQL.endedOfOwner)
                    .all(cursor.endedAt, cursor.job, date, limit, owner) { try read($0) }
            } else {
                try database.prepare(SQL.ended)
                    .all(cursor.endedAt, cursor.job, date, limit) { try read($0) }
            }
        var piece = EndedPiece(next: rows.count == limit ? rows.last?.cursor : nil)
        for row in rows where row.uid == uid {
            let end = End(endedAt: row.cursor.endedAt, number: row.number ?? .max)
            if let last = piece.ends.last, last.endedAt == end.endedAt {
                piece.ends[piece.ends.count - 1].number = min(last.number, end.number)
            } else if let last = piece.ends.last, last.endedAt <= now {
                break
            } else {
                piece.ends.append(end)
            }
        }
        return piece
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
        SELECT ended_at_us, id, undo_uid, last_seq FROM jobs
        WHERE (ended_at_us, id) < (?1, ?2) AND ended_at_us >= ?3
        ORDER BY ended_at_us DESC, id DESC LIMIT ?4
        """
    /// Uses jobs_ended_by_owner.
    static let endedOfOwner = """
        SELECT ended_at_us, id, undo_uid, last_seq FROM jobs
        WHERE owner_id = ?5 AND (ended_at_us, id) < (?1, ?2) AND ended_at_us >= ?3
        ORDER BY ended_at_us DESC, id DESC LIMIT ?4
        """
    /// Uses jobs_ended.
    static let endedAt = """
        SELECT id, end_reason IS 'replaced' FROM jobs
        WHERE ended_at_us = ?1 AND undo_uid = ?2 ORDER BY id
        """
}

// SPDX-License-Identifier: Apache-2.0

import CSQLite
import JobModel
import SQLite
import Schedules

/// The one row that is the daemon's own: its clock's anchor, and the numbers it has given out.
struct DaemonState: Hashable, Sendable {
    var anchor: ClockAnchor
    /// Sequence numbers below this may have been used.
    var eventSequenceEnd: Int64
    /// The date from which numbers go on, if the database is a copy that a backup made; else nil.
    var goesOnFrom: Timestamp?

    /// `now`: by the wall clock; the numbers of a copy go on from it, or from the last date in the copy, where that is later:
    /// a clock that was not set yet skips nothing.
    ///
    /// - Throws: where its row is missing or damaged, an error that is lasting: numbers that go on from a wrong one would end
    ///   soon, or come twice.
    static func read(_ database: Database, now: Timestamp) throws -> DaemonState {
        do {
            guard let state = try stored(in: database, now: now) else {
                throw damage("it is empty", database)
            }
            return state
        } catch let error as DatabaseError where error.isUnreadableValue {
            throw damage(error.message, database)
        }
    }

    private static func damage(_ what: String, _ database: Database) -> DatabaseError {
        DatabaseError(
            code: SQLITE_CORRUPT,
            message: "table 'daemon_state' of database '\(database.path)' is damaged (\(what)),"
                + " and nothing can be numbered; restore a backup",
            path: database.path
        )
    }

    private static func stored(in database: Database, now: Timestamp) throws -> DaemonState? {
        try database.prepare(SQL.read).first { row in
            // Within the bounds of an `Int` that is read: all are counted on.
            let end = Int64(try row.get(4, as: Int.self))
            _ = (try row.get(6, as: Int.self), try row.get(7, as: Int.self))
            let isCopy = try row.get(5, as: Int64?.self) != nil
            let anchor = ClockAnchor(
                bootID: try row.get(0),
                elapsedBase: try row.get(1),
                wallOffset: try row.get(2),
                elapsed: try row.get(3)
            )
            let date = max(now, anchor.elapsed + anchor.wallOffset)
            return DaemonState(
                anchor: anchor,
                eventSequenceEnd: isCopy ? max(end, date.microseconds) : end,
                goesOnFrom: isCopy ? date : nil
            )
        }
    }

    static func write(_ anchor: ClockAnchor, to database: Database) throws {
        try database.prepare(SQL.writeAnchor).run(
            anchor.bootID,
            anchor.elapsedBase,
            anchor.wallOffset,
            anchor.elapsed
        )
    }

    /// Stores how far the clocks have come, so that elapsed time never goes back behind that.
    static func write(_ moment: ClockReading, to database: Database) throws {
        try database.prepare(SQL.writeMoment).run(
            moment.wallOffset,
            moment.elapsed
        )
    }

    static func write(eventSequenceEnd end: Int64, to database: Database) throws {
        try database.prepare(SQL.writeSequenceEnd).run(end)
    }

    /// Has no new run get one of the numbers up to `run`.
    static func skip(runsThrough run: RunID, in database: Database) throws {
        try database.prepare(SQL.skipRuns).run(run)
    }

    /// Has the next daemon on this copy, which was made at `now`, skip the numbers that its original may give out: see `leaveCopy`.
    static func markCopied(_ database: Database, at now: Timestamp) throws {
        try database.prepare(SQL.markCopied).run(now)
    }

    /// On a copy that a backup made, skips the numbers that its original may have given out since.
    ///
    /// No number of an event, fire, run, notice or job is used twice. All but jobs go on from the time in
    /// µs since 1970: a daemon that gives out fewer than a million a second has not come as far. Jobs, whose
    /// numbers people type, skip one number for each ms since 2026: a daemon that adds fewer than a thousand a second all the
    /// time has not come as far, and the numbers stay below 2^53, up to which JSON's readers are exact.
    static func leaveCopy(_ database: Database, now: Timestamp) throws {
        let milliseconds = max(0, (now - .earliestOfClocks).microseconds / 1000)
        try database.prepare(SQL.skipNumbers).run(now, milliseconds)
        try RunStore(database).forgetRunners()
    }

    enum SQL {
        static let markCopied = "UPDATE daemon_state SET copied_at_us = ?1"
        static let skipNumbers = """
            UPDATE daemon_state SET event_seq_end = max(event_seq_end, ?1), copied_at_us = NULL,
                fires_through = max(fires_through, ?1), runs_through = max(runs_through, ?1),
                notices_through = max(notices_through, ?1),
                jobs_through = max(jobs_through, \(last("jobs"))) + ?2
            """
        /// The number of a new row of `table`: as an expression of the statement that inserts it, so that
        /// nothing is remembered that a rollback would have to correct.
        ///
        /// Numbers of rows that were removed are not used again. The trigger that notes the number of the
        /// newest row when that is removed does so in the transaction that removes it: a crash undoes both.
        static func next(_ table: String) -> String {
            """
            (SELECT max(\(table)_through, \(last(table))) + 1 FROM daemon_state)
            """
        }
        /// The highest number of a row of `table`, but of a damaged one, behind which there is no other; 0 for none.
        static func last(_ table: String) -> String {
            "coalesce((SELECT max(id) FROM \(table) WHERE id < \(1 << 62)), 0)"
        }
        private static let counts = """
            scheduled, paused, held, events_pruned, jobs_through, fires_through, runs_through,
                notices_through, notices_waiting, notices_held
            """
        static let read = """
            SELECT boot_id, elapsed_base_us, shift_us, elapsed_us,
                max(event_seq_end, (SELECT coalesce(max(seq), 0) + 1 FROM events)) AS event_seq_end,
                copied_at_us, max(\(counts)) AS largest, min(\(counts)) AS least
            FROM daemon_state
            """
        static let writeAnchor = """
            UPDATE daemon_state
            SET boot_id = ?1, elapsed_base_us = ?2, shift_us = ?3, elapsed_us = ?4
            """
        static let writeMoment = "UPDATE daemon_state SET shift_us = ?1, elapsed_us = ?2"
        /// Writes nothing where it is so already.
        static let skipRuns = """
            UPDATE daemon_state SET runs_through = ?1
            WHERE runs_through < ?1 AND ?1 > \(last("runs"))
            """
        static let writeSequenceEnd = "UPDATE daemon_state SET event_seq_end = ?1"
    }
}

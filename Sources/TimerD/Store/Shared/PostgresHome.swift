// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Cluster
import Glibc
import Postgres
import SQLite

/// Keeps the jobs in PostgreSQL: each transaction of the copy is one there, in one round trip, before anybody is told.
///
/// A transaction names the epoch in which this node leads, and is refused if that has ended; and it has a number, one more
/// than that before it. So if the connection is lost while it is committed, the number tells whether it was.
final class PostgresHome: SharedHome {
    private let address: PostgresAddress
    private let fence: Fence
    private let node: String
    let epoch: Int64
    private let onConnect: @Sendable (_ backend: Int32) -> Void
    private let onDoubt: @Sendable (_ reason: String) -> Void
    private var connection: PostgresConnection?
    /// The server's process of the last connection.
    private var backend: Int32
    /// Since when no connection can be had, in µs of CLOCK_BOOTTIME; nil while one can.
    private var awaySince: Int64?
    /// When there was none last.
    private var triedAt: Int64?
    /// Longer than it takes until records are tried again.
    private static let longPause: Int64 = 10_000_000
    private let rows: ChangedRows
    /// The number of the last transaction that is stored.
    private var number: Int64
    private(set) var loss: DatabaseError?

    /// How long a transaction, or a portion of a large one, may take before its connection counts as lost, and how long it may be
    /// without one.
    private let limit: Duration
    /// `limit` in µs.
    private var patience: Int64 { Int64(limit / .microseconds(1)) }

    /// Takes over the connection with which the tables were read.
    ///
    /// `number`: of the last transaction that they have. `onConnect`: is told the process that serves this node's writes,
    /// which whoever takes over may have to end. `onDoubt`: is told why it is not known yet whether a transaction is stored.
    init(
        _ address: PostgresAddress,
        connection: PostgresConnection,
        tables: [SharedTable],
        node: String,
        epoch: Int64,
        number: Int64,
        fence: Fence,
        limit: Duration,
        onConnect: @escaping @Sendable (_ backend: Int32) -> Void,
        onDoubt: @escaping @Sendable (_ reason: String) -> Void = { _ in }
    ) {
        self.address = address
        self.connection = connection
        backend = connection.backendPID
        self.node = node
        self.epoch = epoch
        self.number = number
        self.fence = fence
        self.limit = limit
        self.onConnect = onConnect
        self.onDoubt = onDoubt
        rows = ChangedRows(tables)
        onConnect(connection.backendPID)
    }

    /// Opens a connection that never looks through a whole table for a few rows, whatever the server has counted of it, and on
    /// which no statement is ended for the time that it takes, as one that reads a whole table.
    static func connect(
        _ address: PostgresAddress,
        within limit: Duration
    ) throws(PostgresError) -> PostgresConnection {
        let connection = try PostgresConnection(address, application: "timerd", within: limit)
        let session =
            Statements.session + connection.unlimitedSession + PostgresConnection.storingSession
        try connection.script(session, within: limit)
        return connection
    }

    func begin(_ database: Database) throws(DatabaseError) {
        if let loss { throw loss }
        try rows.note(in: database)
    }

    func abandon() { rows.forget() }

    func commit(_ database: Database) throws(DatabaseError) {
        if let loss { throw loss }
        let changes = try rows.tables(in: database).flatMap(\.statements)
        rows.forget()
        guard !changes.isEmpty else { return }
        guard var error = try store(changes, database) else { return }
        // A connection that was idle may have been ended meanwhile: what is surely not stored is tried once more, on another.
        // Not where there was none to be had.
        if awaySince == nil {
            guard let next = try store(changes, database) else { return }
            error = next
        }
        throw trouble(error, database)
    }

    /// Returns why the changes are not stored and never will be, as their connection was lost; nil where they are.
    ///
    /// - Throws: where another connection would be of no use.
    private func store(
        _ changes: [PostgresStatement],
        _ database: Database
    ) throws(DatabaseError) -> PostgresError? {
        let statements =
            [
                PostgresStatement("BEGIN"),
                PostgresStatement(
                    Statements.fence,
                    [.integer(epoch), .text(node)],
                    isPrepared: true
                ),
                PostgresStatement(Statements.count, [.integer(number + 1)], isPrepared: true),
            ] + changes + [PostgresStatement("COMMIT")]
        do throws(PostgresError) {
            _ = try open(within: limit).pipeline(statements, within: limit)
            number += 1
            return nil
        } catch {
            return try outcome(of: error, database)
        }
    }

    /// What `store` returns, of what failed.
    private func outcome(
        of error: PostgresError,
        _ database: Database
    ) throws(DatabaseError) -> PostgresError? {
        if error.isLost {
            connection = nil
            guard error.mayBeDone else { return error }
            return try lookAgain(error, database)
        }
        if error.sqlState == Statements.fenceState, error.statementIndex == 2 {
            throw lose(Self.otherCommit, database)
        }
        if error.sqlState == Statements.fenceState {
            throw lose(
                "epoch \(epoch), in which this node led, has ended: another node leads, or the row of timerd.lease is gone",
                database
            )
        }
        // The transaction has failed; what is left of it must not be part of the next.
        connection = nil
        throw trouble(error, database)
    }

    /// Finds out whether the transaction was stored whose connection was lost, and has it never be if it was not.
    ///
    /// Until that is known the caller waits, as for a disk that does not answer; but no longer than this node may begin
    /// anything, nor than the lease lasts, for then another takes over from what is stored.
    private func lookAgain(
        _ error: PostgresError,
        _ database: Database
    ) throws(DatabaseError) -> PostgresError? {
        let end = Fence.now() + patience
        var pause: UInt32 = 10_000
        var doubt: PostgresError?
        var holder: LockHolder?
        repeat {
            let left = Duration.microseconds(max(end - Fence.now(), 1000))
            // Of this look: a later one may have another reason.
            var found: LockHolder?
            let status = commitStatus(within: left, &found)
            holder = holder ?? found
            switch status {
            case .stored: return nil
            case .notStored: return error.behind(holder)
            case .superseded: throw lose(Self.unknown("another node leads", error), database)
            case .setBack: throw lose(Self.unknown(Self.otherCommit, error), database)
            case .unknown(let reason):
                let reason = reason.behind(found)
                if doubt == nil { onDoubt(reason.message) }
                doubt = reason
                // The server may be starting anew; nobody else waits for this thread in vain, for nothing can be stored.
                usleep(pause)
                pause = min(pause * 2, 500_000)
            }
        } while fence.isOpen && Fence.now() < end
        guard fence.isOpen else {
            throw lose(Self.unknown("this node leads no more", error), database)
        }
        throw leave(Self.unknown("PostgreSQL has not said so in time", doubt ?? error), database)
    }

    private enum CommitStatus {
        case stored, notStored, superseded, setBack
        case unknown(PostgresError)
    }

    /// `holder`: becomes who is no node and keeps the commit waiting, where that is seen.
    private func commitStatus(within limit: Duration, _ holder: inout LockHolder?) -> CommitStatus {
        let former = backend
        do throws(PostgresError) {
            let connection = try open(within: limit)
            // Before the commit is ended, which waits for nobody then.
            if former != connection.backendPID,
                let found = Self.holder(inFrontOf: former, on: connection, within: limit)
            {
                holder = found
            }
            // The server may have a part of it alone, and hold the row until somebody sends the rest.
            _ = try connection.execute(Statements.end, [.integer(epoch)], within: limit)
            // Waits for the row in case the server is still at it.
            let answer = try connection.execute(
                Statements.resolve,
                [.integer(epoch), .integer(number + 1)],
                within: limit
            )
            guard answer.count > 0, let isStored = answer.boolean(0, 0) else { return .superseded }
            guard answer.boolean(0, 1) == true else { return .setBack }
            number += 2
            return isStored ? .stored : .notStored
        } catch {
            connection = nil
            return .unknown(error)
        }
    }

    /// Who is no node, and has locked what that process of the server waits for; nil for nobody, and where it cannot be asked for.
    static func holder(
        inFrontOf backend: Int32,
        on connection: PostgresConnection,
        within limit: Duration
    ) -> LockHolder? {
        // try?: it is for the words alone.
        let rows = try? connection.execute(
            LeaseHolders.blocking,
            [.integer(Int64(backend))],
            within: limit
        )
        return rows?.integer(0, 0).map { LockHolder(process: $0) }
    }

    private func open(within limit: Duration) throws(PostgresError) -> PostgresConnection {
        if let connection, connection.isUsable { return connection }
        let start = Fence.now()
        do throws(PostgresError) {
            let new = try Self.connect(address, within: limit)
            (connection, backend) = (new, new.backendPID)
            awaySince = nil
            onConnect(new.backendPID)
            return new
        } catch {
            // Nothing tries in between: after a long pause nothing is known of it.
            if let triedAt, start - triedAt > max(patience, Self.longPause) { awaySince = nil }
            triedAt = start
            awaySince = awaySince ?? start
            throw error
        }
    }

    // MARK: - Errors

    private static let otherCommit =
        "the last commit in the database is not the last that this node knows of, as after a failover that lost some, "
        + "or where the row of timerd.store is gone"

    private func trouble(_ error: PostgresError, _ database: Database) -> DatabaseError {
        // The keeper renews the lease over its own connection, so that this node would go on leading.
        if let awaySince, Fence.now() - awaySince >= patience {
            let reason = "this node has no connection on which to store: \(error.message)"
            return leave(reason, database)
        }
        return DatabaseError(
            // 53100: no room on the server's disk.
            code: error.sqlState == "53100" ? SQLITE_FULL : SQLITE_IOERR,
            message: "PostgreSQL: \(error.message)",
            path: database.path
        )
    }

    func lose(_ reason: DatabaseError) { loss = reason }

    private func lose(_ reason: String, _ database: Database) -> DatabaseError {
        let error = DatabaseError(code: SQLITE_IOERR, message: reason, path: database.path)
        loss = error
        return error
    }

    /// As `lose`, where another node may do better.
    private func leave(_ reason: String, _ database: Database) -> DatabaseError {
        var error = lose(reason, database)
        error.isOfCopy = true
        loss = error
        return error
    }

    private static func unknown(_ reason: String, _ error: PostgresError) -> String {
        "whether the last changes are stored cannot be known, for \(reason): \(error.message)"
    }

    enum Statements {
        /// A division by zero.
        static let fenceState = "22012"
        static let session = """
            SET search_path = timerd; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
            SET jit = off; SET idle_in_transaction_session_timeout = '10s';
            """
        /// Fails if the epoch has ended; while it is held, the epoch cannot end, but the lease can be renewed.
        static let fence = """
            SELECT 1 / count(*), \(PostgresConnection.durable)
            FROM (SELECT 1 FROM timerd.lease WHERE epoch = $1 AND node = $2 FOR KEY SHARE) AS held
            """
        /// Fails if the last transaction that is stored is not the last that this node knows of.
        static let count = """
            WITH counted AS (
                UPDATE timerd.store SET number = $1 WHERE number = $1 - 1 RETURNING 1
            )
            SELECT 1 / count(*) FROM counted
            """
        /// Ends what is under way on connections of before.
        static let end = """
            SELECT count(pg_terminate_backend(holding.pid))
            FROM timerd.lease CROSS JOIN \(LeaseHolders.processes) AS holding
            WHERE lease.epoch = $1
            """
        /// Whether the transaction with a number is stored.
        ///
        /// From then on it cannot be any more, and another answer is the
        /// same, should this one be lost. Carried out so late that others are stored since, it changes nothing. The second
        /// column is false, and nothing is decided, where transactions before it are missing: another server has taken over,
        /// without them.
        ///
        /// It holds the epoch, as a transaction does: one that still waits here for the row, and whose node has given up, is ended
        /// by who takes the lease next. It would count beside that one's transactions, as it sees the lease as it was.
        static let resolve = """
            UPDATE timerd.store
            SET was_stored = CASE WHEN number > $2 THEN was_stored ELSE number = $2 END,
                number = CASE WHEN number < $2 - 1 THEN number ELSE greatest(number, $2 + 1) END
            WHERE EXISTS (SELECT 1 FROM timerd.lease WHERE epoch = $1 FOR KEY SHARE)
            RETURNING was_stored, number > $2
            """
    }
}

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
    private var connection: PostgresConnection?
    private let rows: ChangedRows
    /// The number of the last transaction that is stored.
    private var number: Int64
    private(set) var loss: DatabaseError?

    /// How long a transaction may take before its connection counts as lost.
    private let limit: Duration

    /// Takes over the connection with which the tables were read.
    ///
    /// `number`: of the last transaction that they have. `onConnect`: is told the process that serves this node's writes,
    /// which whoever takes over may have to end.
    init(
        _ address: PostgresAddress,
        connection: PostgresConnection,
        tables: [SharedTable],
        node: String,
        epoch: Int64,
        number: Int64,
        fence: Fence,
        limit: Duration,
        onConnect: @escaping @Sendable (_ backend: Int32) -> Void
    ) {
        self.address = address
        self.connection = connection
        self.node = node
        self.epoch = epoch
        self.number = number
        self.fence = fence
        self.limit = limit
        self.onConnect = onConnect
        rows = ChangedRows(tables)
        onConnect(connection.backendPID)
    }

    /// Opens a connection that never looks through a whole table for a few rows, whatever the server has counted of it.
    static func connect(
        _ address: PostgresAddress,
        within limit: Duration
    ) throws(PostgresError) -> PostgresConnection {
        let connection = try PostgresConnection(address, application: "timerd", within: limit)
        try connection.script(Statements.session, within: limit)
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
            _ = try open().pipeline(statements, within: limit)
            number += 1
        } catch {
            try settle(error, database)
        }
    }

    /// Returns if what failed is stored all the same; throws if it is not.
    private func settle(_ error: PostgresError, _ database: Database) throws(DatabaseError) {
        if error.isLost {
            connection = nil
            guard error.mayBeDone else { throw trouble(error, database) }
            return try lookAgain(error, database)
        }
        if error.sqlState == Statements.fenceState, error.statementIndex == 2 {
            throw lose("another transaction was stored than this node knows of", database)
        }
        if error.sqlState == Statements.fenceState {
            throw lose("another node leads since epoch \(epoch) has ended", database)
        }
        // The transaction has failed; what is left of it must not be part of the next.
        connection = nil
        throw trouble(error, database)
    }

    /// Finds out whether the transaction was stored whose connection was lost, and has it never be if it was not.
    ///
    /// Until that is known the caller waits, as for a disk that does not answer; but no longer than this node may begin
    /// anything, for then another takes over from what is stored.
    private func lookAgain(_ error: PostgresError, _ database: Database) throws(DatabaseError) {
        var pause: UInt32 = 10_000
        repeat {
            switch settled() {
            case .stored: return
            case .notStored: throw trouble(error, database)
            case .superseded: throw loseUnknown("another node leads", error, database)
            case .unknown:
                // The server may be starting anew; nobody else waits for this thread in vain, for nothing can be stored.
                usleep(pause)
                pause = min(pause * 2, 500_000)
            }
        } while fence.isOpen
        throw loseUnknown("this node leads no more", error, database)
    }

    private enum Settled {
        case stored, notStored, superseded, unknown
    }

    private func settled() -> Settled {
        do throws(PostgresError) {
            // Waits for the row in case the server is still at it.
            let answer = try open().execute(
                Statements.settle,
                [.integer(epoch), .integer(number + 1)],
                within: limit
            )
            guard answer.count > 0, let isStored = answer.boolean(0, 0) else { return .superseded }
            number += 2
            return isStored ? .stored : .notStored
        } catch {
            connection = nil
            return .unknown
        }
    }

    private func open() throws(PostgresError) -> PostgresConnection {
        if let connection, connection.isUsable { return connection }
        let new = try Self.connect(address, within: limit)
        connection = new
        onConnect(new.backendPID)
        return new
    }

    // MARK: - Errors

    private func trouble(_ error: PostgresError, _ database: Database) -> DatabaseError {
        DatabaseError(
            // 53100: no room on the server's disk.
            code: error.sqlState == "53100" ? SQLITE_FULL : SQLITE_IOERR,
            message: "PostgreSQL: \(error.message)",
            path: database.path
        )
    }

    @discardableResult
    func lose(_ reason: String, _ database: Database) -> DatabaseError {
        let error = DatabaseError(code: SQLITE_IOERR, message: reason, path: database.path)
        loss = error
        return error
    }

    private func loseUnknown(
        _ reason: String,
        _ error: PostgresError,
        _ database: Database
    ) -> DatabaseError {
        let words = "whether the last changes are stored cannot be known, for \(reason): "
        return lose(words + error.message, database)
    }

    enum Statements {
        /// A division by zero.
        static let fenceState = "22012"
        static let session = """
            SET search_path = timerd; SET enable_seqscan = off; SET enable_hashjoin = off;
            SET enable_mergejoin = off; SET jit = off; SET idle_in_transaction_session_timeout = '10s'
            """
        /// Fails if the epoch has ended; while it is held, the epoch cannot end, but the lease can be renewed.
        static let fence = """
            SELECT 1 / count(*)
            FROM (SELECT 1 FROM timerd.lease WHERE epoch = $1 AND node = $2 FOR KEY SHARE) AS held
            """
        /// Fails if another transaction was stored since the last that this node knows of.
        static let count = """
            WITH counted AS (
                UPDATE timerd.store SET number = $1 WHERE number = $1 - 1 RETURNING 1
            )
            SELECT 1 / count(*) FROM counted
            """
        /// Whether the transaction with a number is stored.
        ///
        /// From then on it cannot be any more, and another answer is the
        /// same, should this one be lost.
        static let settle = """
            UPDATE timerd.store
            SET was_stored = CASE WHEN number > $2 THEN was_stored ELSE number = $2 END, number = $2 + 1
            WHERE EXISTS (SELECT 1 FROM timerd.lease WHERE epoch = $1)
            RETURNING was_stored
            """
    }
}

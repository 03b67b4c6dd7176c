// SPDX-License-Identifier: Apache-2.0

import Postgres

/// Whether a session of the server is its connection's alone.
///
/// A pooler that lends sessions by the transaction has what is listened for, set and prepared be another's: the node would
/// lead for a moment now and then.
enum OwnSession {
    /// Asks one question, of a server; three, and for another connection, of a pooler.
    ///
    /// One that lends sessions and has just lent this one elsewhere may look as if it did not: then its first statement that is
    /// not there says so.
    ///
    /// - Throws: `ClusterError` where sessions are lent.
    static func check(
        _ connection: PostgresConnection,
        _ address: PostgresAddress,
        within limit: Duration
    ) throws(ClusterError) {
        let first: Int64
        let second: Int64
        do throws(PostgresError) {
            first = try process(of: connection, within: limit)
            guard first != Int64(connection.backendPID) else { return }
            second = try process(of: connection, within: limit)
        } catch {
            throw .from(error, doing: "ask for its session")
        }
        guard !isLent(first, second, other: other(at: address, within: limit)) else { throw lent }
    }

    /// Whether sessions are lent, by the processes that have answered a connection's transactions, and another's; nil where
    /// that one had no answer, as from a pooler that has no session left.
    static func isLent(_ first: Int64, _ second: Int64, other: Int64?) -> Bool {
        // While it is there, nobody else has a session that is its own.
        first != second || other == second
    }

    static var lent: ClusterError {
        ClusterTables.refusal(.lentSession, PostgresError.lentSession)
    }

    /// The server's process that answers; a pooler makes up the number that it tells of it as one connects.
    private static func process(
        of connection: PostgresConnection,
        within limit: Duration
    ) throws(PostgresError) -> Int64 {
        try connection.execute("SELECT pg_backend_pid()::bigint", within: limit).integer(0, 0) ?? 0
    }

    private static func other(at address: PostgresAddress, within limit: Duration) -> Int64? {
        let limit = min(limit / 3, .seconds(1))
        do throws(PostgresError) {
            let other = try PostgresConnection(
                address,
                application: "timerd session",
                within: limit
            )
            defer { other.close() }
            return try process(of: other, within: limit)
        } catch {
            // Nothing is known against the first.
            return nil
        }
    }
}

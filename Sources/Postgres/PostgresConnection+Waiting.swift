// SPDX-License-Identifier: Apache-2.0

import Glibc

extension PostgresConnection {
    /// Sends what libpq holds back, and takes in meanwhile what the server sends.
    ///
    /// A server whose answers nobody takes stops reading: both sides would wait for ever.
    func flush(_ connection: LibPQ.Connection, _ deadline: Deadline) throws(PostgresError) {
        // -1: what broke is said by what arrived before, which is read next.
        while library.flush(connection) == 1 {
            try wait(connection, CInt(POLLIN | POLLOUT), deadline)
        }
    }

    /// The next result, nil at the end of a statement's; to be cleared by who takes it.
    func nextResult(
        _ connection: LibPQ.Connection,
        _ deadline: Deadline
    ) throws(PostgresError) -> LibPQ.Result? {
        while library.isBusy(connection) != 0 {
            let isWritten = library.flush(connection) != 1
            try wait(connection, CInt(isWritten ? POLLIN : POLLIN | POLLOUT), deadline)
        }
        return library.getResult(connection)
    }

    /// Sleeps until the socket is ready for one of `events`, and takes in what has arrived.
    private func wait(
        _ connection: LibPQ.Connection,
        _ events: CInt,
        _ deadline: Deadline
    ) throws(PostgresError) {
        guard let ready = deadline.wait(for: library.socket(connection), events) else {
            throw timedOut()
        }
        guard ready & ~CInt(POLLOUT) != 0, library.consumeInput(connection) == 0 else { return }
        throw whyBroken(connection)
    }

    /// The server's own words for the end of the connection, where they have arrived, else libpq's.
    private func whyBroken(_ connection: LibPQ.Connection) -> PostgresError {
        let reason = reason()
        // It does not block where the connection is broken.
        guard !isUsable, let result = library.getResult(connection) else { return broken(reason) }
        defer { library.clear(result) }
        guard library.resultErrorField(result, LibPQ.Field.sqlState) != nil else {
            return broken(reason)
        }
        return failure(result)
    }

    /// Ends a transaction that a call began and did not end, so that the next begins as this one did.
    func rollBack(_ connection: LibPQ.Connection, _ deadline: Deadline) throws(PostgresError) {
        guard library.transactionStatus(connection) != LibPQ.Transaction.idle else { return }
        try run("ROLLBACK", connection, deadline)
    }

    /// Runs a statement that answers nothing and does not fail.
    func run(
        _ sql: String,
        _ connection: LibPQ.Connection,
        _ deadline: Deadline
    ) throws(PostgresError) {
        guard library.sendQuery(connection, sql) != 0 else { throw broken() }
        while let result = try nextResult(connection, deadline) { library.clear(result) }
    }
}

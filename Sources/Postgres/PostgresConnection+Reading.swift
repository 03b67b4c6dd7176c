// SPDX-License-Identifier: Apache-2.0

extension PostgresConnection {
    /// Calls `row` with each row as it comes, without holding all of them.
    ///
    /// An error that `row` throws is thrown on, once what the server still sends has been passed over.
    ///
    /// - Parameters:
    ///   - sql: One statement, with `$1` and so on for the parameters.
    ///   - parameters: Of the types `bigint`, `text`, `bytea`, `boolean` or arrays of the first three.
    ///   - limit: The time without any row; when it is over, the connection is closed.
    ///   - row: Called for each row; must not use the connection.
    /// - Throws: `PostgresError`, or what `row` throws.
    package func readRows(
        _ sql: String,
        _ parameters: [PostgresValue] = [],
        within limit: Duration,
        row: (borrowing PostgresRow) throws -> Void
    ) throws {
        let connection = try begin()
        try self.parameters.encode(parameters)
        // In a pipeline of one: only that ends the mode of single rows, which would be the next statement's as well.
        guard library.enterPipelineMode(connection) != 0 else { throw broken() }
        hasSent = true
        guard sendOne(sql, nil, connection), library.pipelineSync(connection) != 0,
            library.setSingleRowMode(connection) != 0
        else { throw broken() }
        var thrown: (any Error)?
        while let result = try nextResult(connection, Deadline(in: limit)) {
            defer { library.clear(result) }
            switch library.resultStatus(result) {
            case LibPQ.ResultStatus.singleTuple:
                if thrown != nil { continue }
                do {
                    try row(PostgresRow(result, of: library))
                } catch {
                    thrown = error
                }
            default:
                if let error = try failed(result) { thrown = thrown ?? error }
            }
        }
        let error = try takeSync(connection, Deadline(in: limit))
        guard library.exitPipelineMode(connection) != 0 else { throw broken() }
        if let thrown = thrown ?? error { throw thrown }
    }

    /// Runs several statements, separated by semicolons, as psql would: without parameters or rows.
    ///
    /// The first that fails is thrown; what follows it is not done. They are one transaction, unless they contain
    /// BEGIN and COMMIT themselves; one that was open before stays so.
    package func script(_ sql: String, within limit: Duration) throws(PostgresError) {
        let connection = try begin()
        let deadline = Deadline(in: limit)
        let isInTransaction = library.transactionStatus(connection) != LibPQ.Transaction.idle
        hasSent = true
        guard library.sendQuery(connection, sql) != 0 else { throw broken() }
        var thrown: PostgresError?
        while let result = try nextResult(connection, deadline) {
            defer { library.clear(result) }
            if let error = try failed(result) { thrown = thrown ?? error }
        }
        try checkReplication()
        guard let thrown else { return }
        if !isInTransaction { try rollBack(connection, deadline) }
        throw thrown
    }
}

// SPDX-License-Identifier: Apache-2.0

extension PostgresConnection {
    /// Runs one statement in one round trip.
    ///
    /// - Parameters:
    ///   - sql: One statement, with `$1` and so on for the parameters.
    ///   - parameters: Of the types `bigint`, `text`, `bytea`, `boolean` or arrays of the first three.
    ///   - limit: When it is over, the connection is closed.
    /// - Returns: Its rows, and how many it changed.
    /// - Throws: `PostgresError`; see `mayBeDone` of one that `isLost`.
    package func execute(
        _ sql: String,
        _ parameters: [PostgresValue] = [],
        within limit: Duration
    ) throws(PostgresError) -> PostgresRows {
        var error: PostgresError
        do throws(PostgresError) {
            let rows = try pipeline([PostgresStatement(sql, parameters)], within: limit)
            return rows[0]
        } catch let failure {
            error = failure
        }
        error.statementIndex = nil
        throw error
    }

    /// Runs all statements in one round trip, and answers what each has answered.
    ///
    /// They are one transaction, unless they contain BEGIN and COMMIT themselves. The first that fails is thrown, with
    /// its index: what follows it is not done, and the transaction is undone unless it was open before.
    ///
    /// When `limit` is over, the connection is closed; it counts anew from each statement that `isPortion`.
    package func pipeline(
        _ statements: [PostgresStatement],
        within limit: Duration
    ) throws(PostgresError) -> [PostgresRows] {
        let connection = try begin()
        if statements.isEmpty { return [] }
        var deadline = Deadline(in: limit)
        let isInTransaction = library.transactionStatus(connection) != LibPQ.Transaction.idle
        guard library.enterPipelineMode(connection) != 0 else { throw broken() }
        let preparations = try send(statements, connection, &deadline)
        let outcome = try takeResults(of: statements, preparations, connection, &deadline)
        guard library.exitPipelineMode(connection) != 0 else { throw broken() }
        try checkReplication()
        if var error = outcome.error {
            if !isInTransaction { try rollBack(connection, deadline) }
            switch error.sqlState {
            // Its tables have changed: all is prepared anew.
            case "0A000":
                prepared.removeAll()
                if !isInTransaction { try run("DEALLOCATE ALL", connection, deadline) }
            // It has not got what was prepared. What it has may be another's.
            case PostgresError.lentSessionState:
                prepared.removeAll()
                error.message = "\(PostgresError.lentSession) (\(error.message))"
            default: break
            }
            throw error
        }
        return outcome.rows
    }

    /// Sends all statements and a sync behind them; answers under which names it prepared which of them.
    private func send(
        _ statements: [PostgresStatement],
        _ connection: LibPQ.Connection,
        _ deadline: inout Deadline
    ) throws(PostgresError) -> [Int: String] {
        var preparations: [Int: String] = [:]
        var unflushed = 0
        for (index, statement) in statements.enumerated() {
            do throws(PostgresError) {
                try parameters.encode(statement.parameters)
            } catch {
                throw giveUp(error, index)
            }
            var name: String?
            if statement.isPrepared {
                name = prepared.name(of: statement.sql, for: parameters.types)
                if name == nil, let new = prepared.newName() {
                    let count = CInt(parameters.types.count)
                    hasSent = true
                    guard
                        library.sendPrepare(
                            connection,
                            new,
                            statement.sql,
                            count,
                            parameters.types
                        ) != 0
                    else { throw broken() }
                    prepared.add(new, of: statement.sql, for: parameters.types)
                    preparations[index] = new
                    name = new
                }
            }
            hasSent = true
            guard sendOne(statement.sql, name, connection) else { throw broken() }
            unflushed += parameters.size + statement.sql.utf8.count
            // Else the server keeps its answer until it has all of them.
            if statement.isPortion, library.sendFlushRequest(connection) == 0 { throw broken() }
            if unflushed > 1 << 18 || statement.isPortion {
                try flush(connection, deadline)
                unflushed = 0
            }
            // The server has taken what came before, but for what the socket holds.
            if statement.isPortion { deadline.renew() }
        }
        guard library.pipelineSync(connection) != 0 else { throw broken() }
        try flush(connection, deadline)
        return preparations
    }

    /// Sends one statement with the parameters that are encoded, under its name where it has one.
    func sendOne(_ sql: String, _ name: String?, _ connection: LibPQ.Connection) -> Bool {
        let types = parameters.types
        return parameters.withPointers { count, values, lengths, formats in
            // 1: the results in binary form.
            if let name {
                library.sendQueryPrepared(connection, name, count, values, lengths, formats, 1)
            } else {
                library.sendQueryParams(connection, sql, count, types, values, lengths, formats, 1)
            }
        } != 0
    }

    /// What cannot be sent, behind statements that are: there is no way back for those but the connection's end.
    private func giveUp(_ error: PostgresError, _ index: Int) -> PostgresError {
        // Without a sync the server undoes what it has begun, but for what was committed in between.
        close()
        var error = error
        error.mayBeDone = hasSent
        error.statementIndex = index
        return error
    }

    private struct Outcome {
        var rows: [PostgresRows] = []
        var error: PostgresError?
    }

    /// Takes the results of all statements, in their order, up to that of the sync.
    private func takeResults(
        of statements: [PostgresStatement],
        _ preparations: [Int: String],
        _ connection: LibPQ.Connection,
        _ deadline: inout Deadline
    ) throws(PostgresError) -> Outcome {
        var outcome = Outcome()
        outcome.rows.reserveCapacity(statements.count)
        for (index, statement) in statements.enumerated() {
            if let name = preparations[index] {
                let isPrepared = try takeResult(index, connection, deadline, &outcome) != nil
                if !isPrepared { prepared.remove(name, of: statement.sql) }
            }
            if let result = try takeResult(index, connection, deadline, &outcome) {
                if outcome.error == nil, isRolledBack(result, statement.sql) {
                    outcome.error = Self.rolledBack(index)
                }
                outcome.rows.append(PostgresRows(result))
                if statement.isPortion { deadline.renew() }
            }
        }
        let error = try takeSync(connection, deadline)
        outcome.error = outcome.error ?? error
        return outcome
    }

    /// Whether a COMMIT was answered by ROLLBACK: without an error, where a statement before it had one.
    private func isRolledBack(_ result: OwnedResult, _ sql: String) -> Bool {
        guard let first = sql.utf8.first, "CcEe".utf8.contains(first) else { return false }
        return library.cmdStatus(result.pointer).map { String(cString: $0) } == "ROLLBACK"
    }

    private static func rolledBack(_ index: Int) -> PostgresError {
        var error = PostgresError(
            .refused(sqlState: "25P02"),
            "the transaction was undone instead of committed: a statement in it had failed"
        )
        error.statementIndex = index
        return error
    }

    /// Takes the result of one message and the nil behind it; nil where it failed or was left out.
    private func takeResult(
        _ index: Int,
        _ connection: LibPQ.Connection,
        _ deadline: Deadline,
        _ outcome: inout Outcome
    ) throws(PostgresError) -> OwnedResult? {
        guard let pointer = try nextResult(connection, deadline) else { throw broken() }
        let result = OwnedResult(pointer, of: library)
        let error = try failed(pointer, index: index)
        outcome.error = outcome.error ?? error
        let isDone =
            error == nil && library.resultStatus(pointer) != LibPQ.ResultStatus.pipelineAborted
        _ = try nextResult(connection, deadline)
        return isDone ? result : nil
    }

    /// Takes the sync's result, which has no nil behind it; answers the error of what is checked only at the end.
    func takeSync(
        _ connection: LibPQ.Connection,
        _ deadline: Deadline
    ) throws(PostgresError) -> PostgresError? {
        var error: PostgresError?
        while true {
            // Nil is the end of the error's results.
            guard let result = try nextResult(connection, deadline) else {
                guard error != nil else { throw broken() }
                continue
            }
            defer { library.clear(result) }
            if library.resultStatus(result) == LibPQ.ResultStatus.pipelineSync { return error }
            guard error == nil, let failure = try failed(result) else { throw broken() }
            error = failure
        }
    }

    /// The error that a result is, if it is one.
    ///
    /// - Throws: It, where nothing more is to come, as the connection is closed.
    func failed(
        _ result: LibPQ.Result,
        index: Int? = nil
    ) throws(PostgresError) -> PostgresError? {
        switch library.resultStatus(result) {
        case LibPQ.ResultStatus.commandOK, LibPQ.ResultStatus.tuplesOK,
            LibPQ.ResultStatus.emptyQuery, LibPQ.ResultStatus.pipelineAborted:
            return nil
        case LibPQ.ResultStatus.copyIn, LibPQ.ResultStatus.copyOut, LibPQ.ResultStatus.copyBoth:
            throw noCopy()
        default:
            let error = failure(result, index: index)
            if error.isLost { throw error }
            return error
        }
    }

    /// COPY would wait for data that nobody sends.
    private func noCopy() -> PostgresError {
        close()
        return PostgresError(.unexpected, "COPY is not for this connection, which is closed")
    }
}

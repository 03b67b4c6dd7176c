// SPDX-License-Identifier: Apache-2.0

/// Why PostgreSQL did not do what it was asked.
package struct PostgresError: Error, Sendable, CustomStringConvertible {
    package enum Kind: Sendable, Equatable {
        /// libpq is not installed, or too old.
        case noLibrary
        /// The address cannot be used.
        case address
        /// No server could be reached that takes connections now; trying again may help.
        case unreachable
        /// The server has answered that it will not.
        case refused(sqlState: String)
        /// The connection has broken, or the time was over; it is closed.
        case lost
        /// What is asked here does not fit what libpq or the server can do.
        case unexpected
    }

    package var kind: Kind
    /// One line, without a password and a row's values: what failed, where, and what PostgreSQL says of it.
    package var message: String
    /// The server's code of five letters, where it has said one; a lost connection may have one, too.
    package var sqlState: String?
    /// Which statement of a pipeline failed, from 0.
    package var statementIndex: Int?
    /// Whether what was asked may have been done all the same, or may be yet: the connection was lost after it was sent,
    /// and the server goes on with it until it sees that.
    package var mayBeDone = false

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
        if case .refused(let sqlState) = kind { self.sqlState = sqlState }
    }

    /// Whether the connection is of no use any more.
    package var isLost: Bool { kind == .lost }

    package var description: String { message }
}

extension PostgresError {
    /// invalid_sql_statement_name: a session has not got what its connection has prepared in it.
    package static let lentSessionState = "26000"

    /// What has happened then.
    package static let lentSession =
        "the connection goes through a pooler that lends sessions by the transaction, as pgbouncer with "
        + "pool_mode=transaction: timerd needs sessions of its own, as with pool_mode=session, "
        + "or the server's own address"

    /// Of a result that is an error.
    init(_ result: LibPQ.Result, of library: LibPQ, index: Int?) {
        func field(_ code: CInt) -> String? {
            library.resultErrorField(result, code).map { String(cString: $0) }
        }
        let sqlState = field(LibPQ.Field.sqlState)
        let severity = field(LibPQ.Field.severity)
        var message: String
        if let words = Self.wordsWithoutValues(sqlState, from: field(LibPQ.Field.sourceFunction)) {
            message = words
            if let table = field(LibPQ.Field.table) { message += ", of table \"\(table)\"" }
            if let constraint = field(LibPQ.Field.constraint) {
                message += ", by constraint \"\(constraint)\""
            }
        } else {
            message =
                field(LibPQ.Field.message)
                ?? library.resultErrorMessage(result).map { String(cString: $0) } ?? "no message"
            if let detail = field(LibPQ.Field.detail), !Self.quotesRows(sqlState) {
                message += ": \(detail)"
            }
        }
        // libpq makes results of its own, without a code, where the connection breaks.
        let isFatal = severity == "FATAL" || severity == "PANIC"
        if let sqlState, !isFatal, !Self.endsConnection(sqlState) {
            self.init(.refused(sqlState: sqlState), Self.line(message))
        } else {
            self.init(.lost, Self.line(message))
            mayBeDone = true
        }
        self.sqlState = sqlState
        statementIndex = index
    }

    /// Whether a server that answers with this ends the connection: the class 08, and its own shutdown.
    ///
    /// https://www.postgresql.org/docs/current/errcodes-appendix.html
    private static func endsConnection(_ sqlState: String) -> Bool {
        sqlState.hasPrefix("08")
            || ["57P01", "57P02", "57P03", "57P04", "57P05"].contains(sqlState)
    }

    /// What is told instead of a message that may itself have values of a row; nil where that has none.
    ///
    /// An error of data (22) quotes what could not be read, as where a constraint or an index that was added by hand casts a
    /// column. A function that was added by hand, as a trigger's, words its errors itself, in PL/pgSQL with any code.
    private static func wordsWithoutValues(_ sqlState: String?, from function: String?) -> String? {
        guard let sqlState else { return nil }
        let isWordedByHand =
            function == "exec_stmt_raise"
            || ["P0", "38", "39"].contains { sqlState.hasPrefix($0) }
        if isWordedByHand { return "a function of the database refuses (\(sqlState))" }
        // A division by zero quotes nothing.
        guard sqlState.hasPrefix("22"), sqlState != "22012" else { return nil }
        return "data that an expression of the database refuses (\(sqlState))"
    }

    /// Whether the detail of that code has values of the row that was refused: errors of data (22), of integrity (23) and
    /// of a view's check (44).
    ///
    /// The row may be of another user than the one who is told.
    private static func quotesRows(_ sqlState: String?) -> Bool {
        ["22", "23", "44"].contains { sqlState?.hasPrefix($0) == true }
    }

    /// A message of several lines in one, without what libpq only adds for who programs the server.
    static func line(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline)
            .filter { !$0.hasPrefix("LOCATION:") }
            .map { $0.drop(while: \.isWhitespace) }
            .reduce("") { line, next in
                guard let last = line.last else { return String(next) }
                return line + (last.isPunctuation ? " " : ". ") + next
            }
    }
}

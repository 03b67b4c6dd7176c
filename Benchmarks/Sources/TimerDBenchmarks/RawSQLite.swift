// SPDX-License-Identifier: Apache-2.0

import CLimits

/// SQLite with nothing around it, as durable as timerd's own: a write-ahead log, synchronous=FULL.
final class RawSQLite {
    private let handle: OpaquePointer

    init(_ path: String) throws {
        var handle: OpaquePointer?
        guard sqlite3_open(path, &handle) == SQLITE_OK, let handle else {
            throw BenchmarkError("cannot open '\(path)'")
        }
        self.handle = handle
        try execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
    }

    deinit { sqlite3_close(handle) }

    func execute(_ sql: String) throws {
        try check(sqlite3_exec(handle, sql, nil, nil, nil), sql)
    }

    func prepare(_ sql: String) throws -> Statement {
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, sql, -1, &statement, nil), sql)
        return Statement(handle: statement)
    }

    /// The one number that a query gives.
    func number(_ sql: String) throws -> Int64 {
        let statement = try prepare(sql)
        guard sqlite3_step(statement.handle) == SQLITE_ROW else {
            throw BenchmarkError("no row - in '\(sql)'")
        }
        return sqlite3_column_int64(statement.handle, 0)
    }

    func check(_ code: Int32, _ what: String) throws {
        guard code == SQLITE_OK || code == SQLITE_DONE else {
            throw BenchmarkError("\(String(cString: sqlite3_errmsg(handle))) - in '\(what)'")
        }
    }

    /// Finalized with its last reference, which has to go before the connection's.
    final class Statement {
        fileprivate let handle: OpaquePointer?

        fileprivate init(handle: OpaquePointer?) { self.handle = handle }

        deinit { sqlite3_finalize(handle) }
    }

    /// Runs a statement with up to two numbers and a text.
    func run(_ statement: Statement, _ numbers: Int64..., text: String? = nil) throws {
        for (index, number) in numbers.enumerated() {
            sqlite3_bind_int64(statement.handle, Int32(index + 1), number)
        }
        if let text {
            let place = Int32(numbers.count + 1)
            sqlite3_bind_text(statement.handle, place, text, -1, climits_transient())
        }
        let code = sqlite3_step(statement.handle)
        sqlite3_reset(statement.handle)
        try check(code, String(cString: sqlite3_sql(statement.handle)))
    }
}

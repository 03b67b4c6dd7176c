// SPDX-License-Identifier: Apache-2.0

import Postgres
import Testing

@testable import SQLite
@testable import TimerD

/// What PostgreSQL is asked to store of a transaction.
@Suite("What a transaction has changed")
struct ChangedRowsTests {
    /// `before`: a transaction that is over before.
    private func statements(of sql: String, before: String? = nil) throws -> [PostgresStatement] {
        let folder = try TemporaryFolder()
        let database = try Database(path: folder.path + "/copy.db", mode: .copy)
        defer { database.close() }
        try database.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT) STRICT")
        if let before { try database.execute(before) }
        let rows = ChangedRows(try SharedTable.all(of: database))
        try database.begin()
        try rows.note(in: database)
        try database.execute(sql)
        let statements = try rows.tables(in: database).flatMap(\.statements)
        rows.forget()
        try database.commit()
        return statements
    }

    private func insertion(of count: Int, _ text: String = "'x'") -> String {
        """
        INSERT INTO t WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n WHERE a < \(count))
        SELECT a, \(text) FROM n
        """
    }

    /// The numbers in the first array of a statement.
    private func keys(_ statement: PostgresStatement) -> [Int64] {
        guard case .integers(let array)? = statement.parameters.first else { return [] }
        return array.compactMap(\.self)
    }

    @Test("Few rows are one statement, for which there is as much time as for all")
    func few() throws {
        let count = SharedColumns.portion.rows
        let written = try statements(of: insertion(of: count))
        #expect(written.map { keys($0).count } == [count])
        #expect(written.map(\.isPortion) == [false])
        #expect(try statements(of: "DELETE FROM t").isEmpty)
    }

    @Test("Many rows are several statements of one text, each with time of its own")
    func many() throws {
        let count = SharedColumns.portion.rows * 2 + 1
        for statements in [
            try statements(of: insertion(of: count)),
            try statements(of: "UPDATE t SET b = 'y'", before: insertion(of: count)),
            try statements(of: "DELETE FROM t", before: insertion(of: count)),
        ] {
            #expect(statements.map { keys($0).count } == [count / 2, count / 2, 1])
            #expect(statements.flatMap(keys).sorted() == (1...Int64(count)).map(\.self))
            #expect(Set(statements.map(\.sql)).count == 1)
            #expect(statements.allSatisfy { $0.isPortion && $0.isPrepared })
        }
    }

    @Test("Rows of many bytes are fewer in a portion")
    func large() throws {
        let size = SharedColumns.portion.bytes / 4
        let written = try statements(of: insertion(of: 9, "printf('%.*c', \(size), 'x')"))
        #expect(written.map { keys($0).count } == [4, 4, 1])
        #expect(written.map(\.isPortion) == [true, true, true])
    }
}

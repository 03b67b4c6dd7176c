// SPDX-License-Identifier: Apache-2.0

import Postgres
import TestPostgres
import Testing

@Suite("PostgreSQL pipelines", .enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(3)))
struct PipelineTests {
    let connection: PostgresConnection

    init() throws {
        connection = try SharedServer.connect()
        try connection.script(
            "CREATE TEMPORARY TABLE t (a bigint PRIMARY KEY, b bytea)",
            within: .patience
        )
    }

    private func count() throws -> Int64? {
        try connection.execute("SELECT count(*) FROM t", within: .patience).integer(0, 0)
    }

    private func insert(_ number: Int64, isPrepared: Bool = false) -> PostgresStatement {
        PostgresStatement(
            "INSERT INTO t VALUES ($1) RETURNING a",
            [.integer(number)],
            isPrepared: isPrepared
        )
    }

    @Test("Each statement's answer is in its place", arguments: [false, true])
    func answers(isPrepared: Bool) throws {
        let rows = try connection.pipeline(
            (1...100).map { insert($0, isPrepared: isPrepared) },
            within: .patience
        )
        #expect(rows.map { $0.integer(0, 0) } == (1...100).map { $0 })
        #expect(rows.allSatisfy { $0.affected == 1 })
        #expect(try count() == 100)
        #expect(try connection.pipeline([], within: .patience).isEmpty)
    }

    @Test(
        "An error names its statement, and all is undone",
        arguments: [false, true],
        [false, true]
    )
    func error(isPrepared: Bool, isExplicit: Bool) throws {
        var statements = [1, 2, 3, 2, 4].map { insert($0, isPrepared: isPrepared) }
        if isExplicit {
            statements = [PostgresStatement("BEGIN")] + statements + [PostgresStatement("COMMIT")]
        }
        let error = PostgresError.thrown {
            _ = try connection.pipeline(statements, within: .patience)
        }
        #expect(error?.sqlState == "23505")
        #expect(error?.statementIndex == (isExplicit ? 4 : 3))
        #expect(connection.isUsable)
        #expect(try count() == 0)
        // And no transaction is left open.
        _ = try connection.pipeline([insert(9)], within: .patience)
        try connection.script("ROLLBACK", within: .patience)
        #expect(try count() == 1)
    }

    @Test("A transaction that was open before stays its owner's")
    func openTransaction() throws {
        _ = try connection.execute("BEGIN", within: .patience)
        _ = try connection.pipeline([insert(1)], within: .patience)
        let error = PostgresError.thrown {
            _ = try connection.pipeline([insert(1)], within: .patience)
        }
        #expect(error?.sqlState == "23505")
        let aborted = PostgresError.thrown { _ = try count() }
        #expect(aborted?.sqlState == "25P02")
        // A server answers so without an error.
        let undone = PostgresError.thrown {
            _ = try connection.execute("COMMIT", within: .patience)
        }
        #expect(undone?.sqlState == "25P02")
        #expect(undone?.isLost == false)
        #expect(try count() == 0)
    }

    @Test(
        "What is checked only at the end of a transaction is an error, too",
        arguments: [false, true]
    )
    func deferred(isExplicit: Bool) throws {
        try connection.script(
            "CREATE TEMPORARY TABLE d (a bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)",
            within: .patience
        )
        var statements = [PostgresStatement](
            repeating: PostgresStatement("INSERT INTO d VALUES (1)"),
            count: 2
        )
        if isExplicit {
            statements = [PostgresStatement("BEGIN")] + statements + [PostgresStatement("COMMIT")]
        }
        let error = PostgresError.thrown {
            _ = try connection.pipeline(statements, within: .patience)
        }
        #expect(error?.sqlState == "23505")
        #expect(error?.statementIndex == (isExplicit ? 3 : nil))
        let rows = try connection.execute("SELECT 1 FROM d", within: .patience)
        #expect(rows.isEmpty)
    }

    @Test(
        "Large parameters and answers in both directions at once are no deadlock",
        arguments: [false, true]
    )
    func noDeadlock(isPrepared: Bool) throws {
        let bytes = [UInt8](repeating: 7, count: 8192)
        let statements = (0..<20_000).map { number in
            PostgresStatement(
                "SELECT $1, $2",
                [.integer(number), .bytes(bytes)],
                isPrepared: isPrepared
            )
        }
        let rows = try connection.pipeline(statements, within: .patience)
        #expect(rows.count == 20_000)
        #expect(rows.last?.integer(0, 0) == 19_999)
        #expect(rows.allSatisfy { $0.bytes(0, 1)?.count == 8192 })
    }

    @Test("A statement is prepared once for each kind of parameters")
    func prepared() throws {
        func prepared() throws -> Int64? {
            try connection.execute(
                "SELECT count(*) FROM pg_prepared_statements",
                within: .patience
            ).integer(0, 0)
        }
        for _ in 0..<3 {
            _ = try connection.pipeline(
                (0..<3).map { number in
                    PostgresStatement("SELECT $1 + 1", [.integer(number)], isPrepared: true)
                },
                within: .patience
            )
        }
        #expect(try prepared() == 1)
        // A NULL fits what was prepared.
        let rows = try connection.pipeline(
            [PostgresStatement("SELECT $1 + 1", [.null], isPrepared: true)],
            within: .patience
        )
        #expect(rows[0].isNull(0, 0))
        #expect(try prepared() == 1)
        let text = PostgresStatement("SELECT $1 || 'x'", [.text("a")], isPrepared: true)
        #expect(try connection.pipeline([text], within: .patience)[0].text(0, 0) == "ax")
        #expect(try prepared() == 2)
    }

    @Test("What could not be prepared is prepared the next time")
    func preparedAgain() throws {
        let statement = PostgresStatement("SELECT a FROM later", isPrepared: true)
        let failing = [PostgresStatement("SELECT 1 / 0"), statement]
        #expect(
            PostgresError.thrown { _ = try connection.pipeline(failing, within: .patience) }?
                .sqlState == "22012"
        )
        #expect(
            PostgresError.thrown { _ = try connection.pipeline([statement], within: .patience) }?
                .sqlState == "42P01"
        )
        try connection.script("CREATE TEMPORARY TABLE later (a bigint)", within: .patience)
        #expect(try connection.pipeline([statement], within: .patience)[0].isEmpty)
        // The plan does not fit any more, and the server has forgotten all: an error, once.
        for change in ["ALTER TABLE later ALTER a TYPE text", "DISCARD ALL"] {
            try connection.script(change, within: .patience)
            if change == "DISCARD ALL" {
                try connection.script("CREATE TEMPORARY TABLE later (a text)", within: .patience)
            }
            #expect(
                PostgresError.thrown {
                    _ = try connection.pipeline([statement], within: .patience)
                } != nil
            )
            #expect(try connection.pipeline([statement], within: .patience)[0].isEmpty)
        }
    }

    /// As a pooler has it that lends sessions.
    @Test("A statement that its session has not got is told as such; none has another's name")
    func preparedElsewhere() throws {
        let statement = PostgresStatement("SELECT 1", isPrepared: true)
        func names(_ connection: PostgresConnection) throws -> [String?] {
            _ = try connection.pipeline([statement], within: .patience)
            let rows = try connection.execute(
                "SELECT name FROM pg_prepared_statements",
                within: .patience
            )
            return (0..<rows.count).map { rows.text($0, 0) }
        }
        let (own, others) = (try names(connection), try names(try SharedServer.connect()))
        #expect(own.count == 1 && others.count == 1 && own != others)
        try connection.script("DEALLOCATE ALL", within: .patience)
        let error = PostgresError.thrown {
            _ = try connection.pipeline([statement], within: .patience)
        }
        #expect(error?.sqlState == PostgresError.lentSessionState)
        #expect(error?.message.hasPrefix(PostgresError.lentSession) == true)
    }

    @Test("No more are prepared than a connection may keep")
    func mostPrepared() throws {
        let statements = (0..<300).map { PostgresStatement("SELECT \($0)", isPrepared: true) }
        let rows = try connection.pipeline(statements, within: .patience)
        #expect(rows.map { $0.integer(0, 0) } == (0..<300).map { $0 })
        let count = try connection.execute(
            "SELECT count(*) FROM pg_prepared_statements",
            within: .patience
        )
        #expect(count.integer(0, 0) == 256)
    }
}

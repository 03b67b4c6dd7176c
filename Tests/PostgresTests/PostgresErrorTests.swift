// SPDX-License-Identifier: Apache-2.0

import Postgres
import TestPostgres
import Testing

@Suite("PostgreSQL errors", .enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(2)))
struct PostgresErrorTests {
    @Test("Where nobody listens, the place is named")
    func nobodyListens() throws {
        let server = try PostgresServer(.init(listensOnTCP: true))
        server.stop()
        let socket = PostgresError.thrown { _ = try PostgresConnection(to: server.address) }
        #expect(socket?.kind == .unreachable)
        #expect(socket?.message.contains("\(server.folder)/.s.PGSQL") == true)
        #expect(socket?.message.contains("No such file or directory. Is the server") == true)
        let tcp = PostgresError.thrown { _ = try PostgresConnection(to: server.tcpAddress) }
        #expect(tcp?.kind == .unreachable)
        #expect(tcp?.message.contains("127.0.0.1") == true)
        #expect(tcp?.message.contains("\(server.port ?? 0)") == true)
        #expect(tcp?.mayBeDone == false)
    }

    @Test("A wrong password is refused, and is in no message")
    func wrongPassword() throws {
        let server = try PostgresServer(.init(listensOnTCP: true, asksPasswords: true))
        let admin = try PostgresConnection(to: server.address)
        try admin.script("CREATE ROLE ann LOGIN PASSWORD 'r1ght'", within: .patience)
        let place = "127.0.0.1:\(server.port ?? 0)/postgres"
        let wrong = PostgresError.thrown {
            _ = try PostgresConnection(to: "postgresql://ann:wr0ng@\(place)")
        }
        #expect(wrong?.kind == .refused(sqlState: "28P01"))
        #expect(wrong?.message.contains("\"ann\"") == true)
        #expect(wrong?.message.contains("wr0ng") == false)
        #expect(wrong?.message.contains("28P01") == false)
        #expect(wrong?.message.contains("LOCATION") == false)
        let none = PostgresError.thrown {
            _ = try PostgresConnection(to: "postgresql://ann@\(place)")
        }
        #expect(none?.kind == .refused(sqlState: "28P01"))
        let right = try PostgresConnection(to: "postgresql://ann:r1ght@\(place)")
        #expect(right.isUsable)
    }

    @Test("An unknown database is named")
    func unknownDatabase() throws {
        let server = try PostgresServer()
        let error = PostgresError.thrown {
            _ = try PostgresConnection(to: server.address(user: "postgres", database: "nothing"))
        }
        #expect(error?.kind == .refused(sqlState: "3D000"))
        #expect(error?.message.contains("\"nothing\" does not exist") == true)
        #expect(error?.message.contains("\n") == false)
    }

    @Test("A server that is only read is not connected with, unless that is asked for")
    func readOnly() throws {
        let server = try PostgresServer(.init(settings: ["default_transaction_read_only": "on"]))
        let error = PostgresError.thrown { _ = try PostgresConnection(to: server.address) }
        #expect(error?.message.contains("read-only") == true)
        let any = try PostgresConnection(to: server.address + "&target_session_attrs=any")
        let refused = PostgresError.thrown {
            try any.script("CREATE TABLE t ()", within: .patience)
        }
        #expect(refused?.sqlState == "25006")
    }

    @Test("The second host takes what the first does not")
    func secondHost() throws {
        let server = try PostgresServer()
        let silent = try PostgresServer()
        silent.pause()
        let hosts = "/nowhere,\(silent.folder),\(server.folder)"
        let connection = try PostgresConnection(
            to: "user=postgres dbname=postgres host=\(hosts)",
            // The silent one has half of it.
            within: .seconds(16)
        )
        #expect(connection.isUsable)
        server.stop()
        let error = PostgresError.thrown {
            _ = try PostgresConnection(to: "user=postgres host=/nowhere,\(server.folder)")
        }
        #expect(error?.kind == .unreachable)
        #expect(error?.message.contains("/nowhere") == true)
        #expect(error?.message.contains(server.folder) == true)
    }

    @Test("A statement's error is said, and the connection goes on")
    func statementErrors() throws {
        let connection = try SharedServer.connect()
        let syntax = PostgresError.thrown {
            _ = try connection.execute("SELCT 1", within: .patience)
        }
        #expect(syntax?.kind == .refused(sqlState: "42601"))
        #expect(syntax?.message == "syntax error at or near \"SELCT\"")
        #expect(syntax?.isLost == false)
        #expect(syntax?.mayBeDone == false)
        try connection.script("CREATE TEMPORARY TABLE t (a bigint PRIMARY KEY)", within: .patience)
        let insert = "INSERT INTO t VALUES ($1)"
        _ = try connection.execute(insert, [.integer(7)], within: .patience)
        let unique = PostgresError.thrown {
            _ = try connection.execute(insert, [.integer(7)], within: .patience)
        }
        #expect(unique?.sqlState == "23505")
        #expect(
            unique?.message == "duplicate key value violates unique constraint \"t_pkey\""
        )
        let script = PostgresError.thrown {
            try connection.script(
                "BEGIN; INSERT INTO t VALUES (8); SELCT; COMMIT",
                within: .patience
            )
        }
        #expect(script?.sqlState == "42601")
        let rows = try connection.execute("SELECT a FROM t", within: .patience)
        #expect(rows.count == 1)
    }

    @Test(
        "What is told of a row that was refused names the table and what refuses it, and no value of the row",
        arguments: [
            (
                "a bigint, b text CHECK (b <> 'secret')",
                "relation \"t\" violates check constraint \"t_b_check\""
            ),
            (
                "a bigint NOT NULL, b text",
                "column \"a\" of relation \"t\" violates not-null constraint"
            ),
            ("a bigint, b text UNIQUE", "violates unique constraint \"t_b_key\""),
        ]
    )
    func noValues(columns: String, words: String) throws {
        let connection = try SharedServer.connect()
        try connection.script("CREATE TEMPORARY TABLE t (\(columns))", within: .patience)
        let error = PostgresError.thrown {
            try connection.script(
                "INSERT INTO t VALUES (1, 'first'), (NULL, 'secret'), (NULL, 'secret')",
                within: .patience
            )
        }
        #expect(error?.sqlState?.hasPrefix("23") == true)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("secret") == false, "\(error?.message ?? "")")
    }

    @Test(
        "Data that cannot be read is not told, by its message or its detail",
        arguments: [
            ("'{\"a\": secret}'::json", "22P02"), ("'secret'::int", "22P02"),
            ("'secret'::date", "22007"), ("'2026-13-13'::date", "22008"),
            ("repeat('9', 10)::int", "22003"),
        ]
    )
    func unreadable(expression: String, sqlState: String) throws {
        let connection = try SharedServer.connect()
        let error = PostgresError.thrown {
            _ = try connection.execute("SELECT \(expression)", within: .patience)
        }
        #expect(error?.sqlState == sqlState)
        #expect(
            error?.message == "data that an expression of the database refuses (\(sqlState))"
        )
    }

    @Test(
        "What a function that was added by hand says is not told, whatever its code",
        arguments: ["P0001", "23514", "45000"]
    )
    func raised(sqlState: String) throws {
        let connection = try SharedServer.connect()
        let error = PostgresError.thrown {
            try connection.script(
                "DO $$ BEGIN RAISE 'not secret' USING ERRCODE = '\(sqlState)', TABLE = 't'; END $$",
                within: .patience
            )
        }
        #expect(error?.sqlState == sqlState)
        #expect(
            error?.message == "a function of the database refuses (\(sqlState)), of table \"t\""
        )
    }

    @Test("The detail of an error that quotes no row is told; a division by zero is told as that")
    func details() throws {
        let connection = try SharedServer.connect()
        let zero = PostgresError.thrown {
            _ = try connection.execute("SELECT 1 / 0", within: .patience)
        }
        #expect(zero?.message == "division by zero")
        let table = PostgresError.thrown {
            try connection.script(
                "CREATE TEMPORARY TABLE u (a int); CREATE TEMPORARY VIEW v AS TABLE u; DROP TABLE u",
                within: .patience
            )
        }
        #expect(table?.message.contains("view v depends on table u") == true)
    }

    @Test("COPY is refused without a wait for its data", arguments: ["FROM STDIN", "TO STDOUT"])
    func copy(_ direction: String) throws {
        for number in 0..<3 {
            let connection = try SharedServer.connect()
            try connection.script("CREATE TEMPORARY TABLE t (a bigint)", within: .patience)
            let error = PostgresError.thrown {
                let copy = "COPY t \(direction)"
                switch number {
                case 0: _ = try connection.execute(copy, within: .patience)
                case 1: try connection.script(copy, within: .patience)
                default: try connection.readRows(copy, within: .patience) { _ in }
                }
            }
            #expect(error?.isLost == false)
            #expect(!connection.isUsable)
        }
    }

    @Test("A server that shuts down is lost, before and while it is asked")
    func shutdown() throws {
        let server = try PostgresServer()
        let idle = try PostgresConnection(to: server.address)
        let admin = try PostgresConnection(to: server.address)
        let ended = PostgresError.thrown {
            _ = try admin.execute(
                "SELECT pg_terminate_backend($1::int), pg_terminate_backend(pg_backend_pid()), pg_sleep(9)",
                [.integer(Int64(idle.backendPID))],
                within: .patience
            )
        }
        #expect(ended?.isLost == true)
        #expect(ended?.mayBeDone == true)
        #expect(ended?.sqlState == "57P01")
        server.stop()
        let error = PostgresError.thrown { _ = try idle.execute("SELECT 1", within: .patience) }
        #expect(error?.isLost == true)
        #expect(error?.mayBeDone == false)
        #expect(error?.message.contains("administrator") == true, "\(error?.message ?? "")")
        #expect(!idle.isUsable)
        let again = PostgresError.thrown { _ = try idle.execute("SELECT 1", within: .patience) }
        #expect(again?.message.contains("is closed") == true)
        try server.start()
        #expect(try PostgresConnection(to: server.address).isUsable)
    }
}

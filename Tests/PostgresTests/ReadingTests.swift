// SPDX-License-Identifier: Apache-2.0

import Foundation
import Postgres
import TestPostgres
import Testing

@Suite(
    "PostgreSQL rows as they come",
    .enabled(if: PostgresServer.isInstalled),
    .timeLimit(.minutes(2))
)
struct ReadingTests {
    let connection: PostgresConnection

    init() throws { connection = try SharedServer.connect() }

    @Test("100,000 rows come in their order")
    func rows() throws {
        var next: Int64 = 1
        try connection.readRows(
            "SELECT n, 'row ' || n, n % 2 = 0, NULL FROM generate_series(1, $1) n",
            [.integer(100_000)],
            within: .patience
        ) { row in
            guard row.integer(0) == next, row.text(1) == "row \(next)",
                row.boolean(2) == (next % 2 == 0), row.isNull(3)
            else {
                throw PostgresError(.unexpected, "not row \(next)")
            }
            next += 1
        }
        #expect(next == 100_001)
    }

    @Test("An error after some rows is thrown, and the connection goes on")
    func error() throws {
        var count = 0
        let error = PostgresError.thrown {
            try connection.readRows(
                "SELECT 1 / (500 - n) FROM generate_series(1, 1000) n",
                within: .patience
            ) { _ in count += 1 }
        }
        #expect(error?.sqlState == "22012")
        #expect(count == 499)
        #expect(try connection.execute("SELECT 1", within: .patience).count == 1)
    }

    @Test("What the reader throws is thrown, and the connection goes on")
    func readerThrows() throws {
        var count = 0
        #expect(throws: CancellationError.self) {
            try connection.readRows("SELECT generate_series(1, 1000)", within: .patience) { _ in
                count += 1
                if count == 10 { throw CancellationError() }
            }
        }
        #expect(count == 10)
        #expect(try connection.execute("SELECT 1", within: .patience).count == 1)
    }
}

@Suite(
    "PostgreSQL notifications",
    .enabled(if: PostgresServer.isInstalled),
    .timeLimit(.minutes(2))
)
struct NotificationTests {
    @Test("What one connection tells, the other takes")
    func notifications() throws {
        let listener = try SharedServer.connect()
        let teller = try SharedServer.connect()
        try listener.script("LISTEN told", within: .patience)
        #expect(try listener.takeNotifications().isEmpty)
        _ = try teller.pipeline(
            ["a", "", "ü"].map {
                PostgresStatement("SELECT pg_notify('told', $1)", [.text($0)])
            },
            within: .patience
        )
        var taken: [PostgresNotification] = []
        while taken.count < 3 {
            var descriptor = pollfd(fd: listener.socket, events: Int16(POLLIN), revents: 0)
            try #require(poll(&descriptor, 1, 50_000) == 1, "no notification has come")
            taken += try listener.takeNotifications()
        }
        #expect(taken.map(\.payload) == ["a", "", "ü"])
        #expect(taken.allSatisfy { $0.channel == "told" && $0.backendPID == teller.backendPID })
    }

    @Test("What came with another answer is taken as well")
    func withAnswer() throws {
        let connection = try SharedServer.connect()
        try connection.script("LISTEN own", within: .patience)
        _ = try connection.execute("SELECT pg_notify('own', 'x')", within: .patience)
        #expect(try connection.takeNotifications().map(\.payload) == ["x"])
    }

    @Test("One who listens finds that the server is gone")
    func lost() throws {
        let server = try PostgresServer()
        let listener = try PostgresConnection(to: server.address)
        try listener.script("LISTEN told", within: .patience)
        server.kill()
        let error = PostgresError.thrown {
            while true {
                var descriptor = pollfd(fd: listener.socket, events: Int16(POLLIN), revents: 0)
                try #require(poll(&descriptor, 1, 50_000) == 1, "the end was not seen")
                _ = try listener.takeNotifications()
            }
        }
        #expect(error?.isLost == true)
    }
}

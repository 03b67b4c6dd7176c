// SPDX-License-Identifier: Apache-2.0

import Postgres
import TestPostgres
import Testing

@Suite("PostgreSQL", .enabled(if: PostgresServer.isInstalled))
struct PlaceholderTests {
    @Test("quick")
    func quick() throws {
        let server = try PostgresServer()
        let connection = try PostgresConnection(
            PostgresAddress(server.address),
            application: "test",
            within: .seconds(10)
        )
        let rows = try connection.execute(
            "SELECT 1::bigint, $1, true, $2",
            [.text("é"), .bytes([1, 2])],
            within: .seconds(5)
        )
        #expect(rows.integer(0, 0) == 1)
        #expect(rows.text(0, 1) == "é")
        #expect(rows.boolean(0, 2) == true)
        #expect(rows.bytes(0, 3) == [1, 2])
        print(connection.serverVersion, connection.backendPID)
    }
}

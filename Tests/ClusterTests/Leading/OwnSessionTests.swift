// SPDX-License-Identifier: Apache-2.0

import Postgres
import TestPostgres
import Testing

@testable import Cluster

@Suite("A session of one's own", .timeLimit(.minutes(2))) struct OwnSessionTests {
    @Test("Sessions are lent where two transactions have had two, or where another's is the same")
    func lent() {
        // A pooler that keeps the session for the connection; it may have none left for another.
        #expect(!OwnSession.isLent(1, 1, other: 2))
        #expect(!OwnSession.isLent(1, 1, other: nil))
        // One that takes them in turn, or the one that was used last, or has but one.
        #expect(OwnSession.isLent(1, 2, other: nil))
        #expect(OwnSession.isLent(1, 2, other: 3))
        #expect(OwnSession.isLent(1, 1, other: 1))
    }

    @Test("A server's own is", .enabled(if: PostgresServer.isInstalled))
    func direct() throws {
        let database = try NodeDatabase()
        let address = try PostgresAddress(database.address)
        try OwnSession.check(try database.connect(), address, within: .patient)
    }

    @Test("What is prepared and is not there is a refusal that lasts, and says why")
    func refusal() throws {
        var error = PostgresError(.refused(sqlState: "26000"), "no such statement")
        guard case .refused(let refusal) = ClusterError.from(error, doing: "write") else {
            Issue.record("\(ClusterError.from(error, doing: "write"))")
            return
        }
        #expect(refusal.code == .lentSession)
        #expect(refusal.message == PostgresError.lentSession)
        error = PostgresError(.refused(sqlState: "42601"), "syntax")
        guard case .database = ClusterError.from(error, doing: "write") else {
            Issue.record("another error is taken for it")
            return
        }
    }
}

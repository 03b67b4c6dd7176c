// SPDX-License-Identifier: Apache-2.0

import Cluster
import Postgres
import Testing

@testable import TimerD

/// Who is in the way of a commit.
extension SharedStoreTests {
    @Test(
        "Who is no node, and has locked what a commit waits for, is found by the process that waits",
        .timeLimit(.minutes(1)),
        arguments: [
            "LOCK TABLE timerd.daemon_state IN SHARE MODE",
            "SELECT FROM timerd.daemon_state FOR UPDATE", "SELECT FROM timerd.store FOR UPDATE",
        ]
    )
    func holder(statement: String) async throws {
        let folder = try TemporaryFolder()
        let store = try Store.test(folder.path, isShared: true, now: TestScheduler.start)
        let other = try Self.connect("test", folder)
        let stranger = try Self.connect("psql", folder)
        try stranger.script("BEGIN; \(statement)", within: .seconds(30))
        async let stored: Void = store.writer.write {
            try $0.execute("UPDATE daemon_state SET paused = 1")
        }
        // The node may ask anew with another process, where it has waited long.
        func holder() throws -> LockHolder? {
            try other.execute(Self.waitingProcess, within: .seconds(30)).integer(0, 0)
                .flatMap { process in
                    PostgresHome.holder(
                        inFrontOf: Int32(process),
                        on: other,
                        within: .seconds(30)
                    )
                }
        }
        var found: LockHolder?
        while found == nil {
            found = try holder()
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(found == LockHolder(process: Int64(stranger.backendPID)))
        try stranger.script("COMMIT", within: .seconds(30))
        try await stored
        #expect(try holder() == nil)
        try await store.close()
    }

    @Test(
        "Who has locked a table that a node reads as it begins to lead is named, where it gives up",
        .timeLimit(.minutes(2)),
        arguments: ["timerd.store", "timerd.jobs"]
    )
    func holderOfWhatIsRead(table: String) async throws {
        let folder = try TemporaryFolder()
        try SharedTestStore.current().database(in: folder.path).close()
        let other = try Self.connect("test", folder)
        let stranger = try Self.connect("psql", folder)
        try stranger.script("BEGIN; LOCK TABLE \(table)", within: .seconds(30))
        let lead = try Lead.test(SharedTestStore.current().address(of: folder.path), other)
        let words = LockHolder(process: Int64(stranger.backendPID)).words
        var told: [String] = []
        // Longer each time: a slow server may not have come to that table before.
        var limit = Duration.milliseconds(100)
        repeat {
            let error = #expect(throws: PostgresError.self) {
                try lead.copy(at: folder.path + "/copy.db", within: limit)
            }
            told.append(error?.message ?? "")
            limit *= 2
        } while told.last?.hasSuffix(words) != true && limit < .seconds(30)
        #expect(told.last?.hasSuffix(words) == true, "\(told)")
        try stranger.script("COMMIT", within: .seconds(30))
        try lead.copy(at: folder.path + "/copy.db").close()
    }

    /// Its node leads no more by then, and would change the number of the last commit under the hands of the one that does.
    @Test(
        "A question about a commit that still waits as another node takes the lease is ended, and changes nothing",
        .timeLimit(.minutes(1))
    )
    func lateQuestion() async throws {
        let folder = try TemporaryFolder()
        try SharedTestStore.current().database(in: folder.path).close()
        let other = try Self.connect("test", folder)
        let stranger = try Self.connect("psql", folder)
        func number(_ sql: String) throws -> Int64? {
            try other.execute(sql, within: .seconds(30)).integer(0, 0)
        }
        let stored = try #require(try number("SELECT number FROM timerd.store"))
        let epoch = try #require(try number("SELECT epoch FROM timerd.lease"))
        try stranger.script("BEGIN; SELECT FROM timerd.store FOR UPDATE", within: .seconds(30))
        let asking = try PostgresHome.connect(
            SharedTestStore.current().address(of: folder.path),
            within: .seconds(30)
        )
        // It gives up, and the server goes on with it.
        #expect(throws: PostgresError.self) {
            try asking.execute(
                PostgresHome.Statements.resolve,
                [.integer(epoch), .integer(stored + 1)],
                within: .milliseconds(100)
            )
        }
        while try number(Self.waitingProcess) == nil {
            try await Task.sleep(for: .milliseconds(5))
        }
        // What a node does that takes the lease, where it finds the row of the lease held.
        let ended = try number(
            "SELECT count(pg_terminate_backend(pid, 10000)) FROM \(LeaseHolders.processes) AS holding"
        )
        #expect(ended == 1)
        try stranger.script("COMMIT", within: .seconds(30))
        // Whatever waited has had its turn once the row can be locked.
        #expect(try number("SELECT number FROM timerd.store FOR UPDATE") == stored)
    }

    private static func connect(
        _ application: String,
        _ folder: TemporaryFolder
    ) throws -> PostgresConnection {
        try PostgresConnection(
            SharedTestStore.current().address(of: folder.path),
            application: application,
            within: .seconds(30)
        )
    }

    /// Which process of a node waits for a lock.
    private static let waitingProcess = """
        SELECT pid::bigint FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'timerd'
            AND wait_event_type = 'Lock'
        """
}

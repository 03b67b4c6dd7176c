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
        func connect(_ name: String) throws -> PostgresConnection {
            try PostgresConnection(
                SharedTestStore.current().address(of: folder.path),
                application: name,
                within: .seconds(30)
            )
        }
        let (other, stranger) = (try connect("test"), try connect("psql"))
        try stranger.script("BEGIN; \(statement)", within: .seconds(30))
        async let stored: Void = store.writer.write {
            try $0.execute("UPDATE daemon_state SET paused = 1")
        }
        var found: Int64?
        while found == nil {
            found = try other.execute(Self.waitingProcess, within: .seconds(30)).integer(0, 0)
            try await Task.sleep(for: .milliseconds(5))
        }
        let process = Int32(try #require(found))
        func holder() -> LockHolder? {
            PostgresHome.holder(inFrontOf: process, on: other, within: .seconds(30))
        }
        #expect(holder() == LockHolder(process: Int64(stranger.backendPID)))
        try stranger.script("COMMIT", within: .seconds(30))
        try await stored
        #expect(holder() == nil)
        try await store.close()
    }

    /// Which process of a node waits for a lock.
    private static let waitingProcess = """
        SELECT pid::bigint FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'timerd'
            AND wait_event_type = 'Lock'
        """
}

// SPDX-License-Identifier: Apache-2.0

import Postgres
import Schedules
import TestPostgres
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// Whose row is whose.
extension SharedStoreTests {
    @Test(
        "The row with the uid of a daemon's user is that user's, but where hosts share jobs",
        arguments: [true, false]
    )
    func ownRow(isShared: Bool) async throws {
        let folder = try TemporaryFolder()
        let store = try Store.test(folder.path, isShared: false, now: TestScheduler.start)
        let (uid, name) = (UInt32(4_000_000_123), "timerd-test-of-another-host")
        try await store.writer.write {
            _ = try Owners($0).row(of: Owner(uid: uid, name: name))
        }
        try await store.nameOwners(Owner(uid: uid, name: "own"), isShared: isShared)
        let names = try await store.writer.write { try Owners($0).all().map(\.owner.name) }
        #expect(names == [isShared ? name : "own"])
        try await store.close()
    }

    @Test(
        "A table that somebody has made beside those of the jobs stays as a newer timerd makes these anew"
    )
    func foreignTable() throws {
        let folder = try TemporaryFolder()
        try SharedTestStore.current().database(in: folder.path).close()
        let connection = try PostgresHome.connect(
            SharedTestStore.current().address(of: folder.path),
            within: .seconds(30)
        )
        try connection.script(
            "CREATE TABLE timerd.notes (note text); INSERT INTO timerd.notes VALUES ('mine');"
                + " UPDATE timerd.lease SET epoch = 7",
            within: .seconds(30)
        )
        let number = [Migration].released.count + 1
        let sql = "ALTER TABLE zone_rules ADD COLUMN more INTEGER"
        let newer = [Migration].released + [Migration(number: number, name: "more", sql: sql)]
        let copy = SharedCopy(at: folder.path + "/new.db", newer)
        try copy.make(connection, node: "test", epoch: 7).database.close()
        let rows = try connection.execute(
            "SELECT note, (SELECT version FROM timerd.store) FROM timerd.notes",
            within: .seconds(30)
        )
        #expect(rows.text(0, 0) == "mine" && rows.integer(0, 1) == Int64(number))
    }

    @Test(
        "A node does not lead where a policy of PostgreSQL applies to its role, also one that hides nothing",
        arguments: ["", "CREATE POLICY all_rows ON timerd.jobs USING (true);"]
    )
    func hiddenRows(policy: String) throws {
        let folder = try TemporaryFolder()
        try SharedTestStore.current().database(in: folder.path).close()
        let address = try SharedTestStore.current().address(of: folder.path)
        let connection = try PostgresHome.connect(address, within: .seconds(30))
        // The server's own role, and the owner, see all.
        let role = "reader_\(UInt64.random(in: .min ... .max))"
        try connection.script(
            """
            CREATE ROLE \(role); GRANT USAGE ON SCHEMA timerd TO \(role);
            GRANT ALL ON ALL TABLES IN SCHEMA timerd TO \(role);
            ALTER TABLE timerd.jobs ENABLE ROW LEVEL SECURITY; \(policy)
            UPDATE timerd.lease SET epoch = 7; SET ROLE \(role)
            """,
            within: .seconds(30)
        )
        let copy = SharedCopy(at: folder.path + "/copy.db")
        let error = #expect(throws: PostgresError.self) {
            try copy.make(connection, node: "test", epoch: 7).database.close()
        }
        #expect(error?.message.contains("row-level security") == true, "\(error?.message ?? "")")
        connection.close()
        // Roles are the whole server's, which other tests have too.
        try PostgresHome.connect(address, within: .seconds(30)).script(
            "DROP OWNED BY \(role); DROP ROLE \(role)",
            within: .seconds(30)
        )
    }
}

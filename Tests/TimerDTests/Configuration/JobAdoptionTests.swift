// SPDX-License-Identifier: Apache-2.0

import Cluster
import Locks
import Platform
import Postgres
import Schedules
import TestPostgres
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// What `--adopt` finds in PostgreSQL, and who comes in between.
@Suite(
    "Adoption by a PostgreSQL that is in use",
    .enabled(if: PostgresServer.isInstalled),
    .timeLimit(.minutes(2))
)
struct JobAdoptionTests {
    private let folder: TemporaryFolder
    private let server: PostgresServer
    private var file: String { folder.path + "/timerd.db" }

    /// A file with one job, and a server without tables.
    init() async throws {
        folder = try TemporaryFolder()
        let test = try await TestScheduler(folder: folder.path, isShared: false)
        try await test.add(ScheduleWords(every: "1h"))
        try await test.close()
        server = try PostgresServer()
    }

    private func adoption(by other: PostgresServer? = nil) async throws -> JobAdoption {
        let configuration = try await TimerD.Configuration.read(
            commandLine: [
                "database": (other ?? server).address, "node": "alpha",
                "copy": folder.path + "/copy.db",
            ],
            environment: [:],
            file: nil,
            paths: DefaultPaths(environment: [:], uid: 0) { _ in false },
            uid: 0
        )
        return try #require(JobAdoption(configuration))
    }

    private func connect() throws -> PostgresConnection {
        try PostgresHome.connect(PostgresAddress(server.address), within: .seconds(30))
    }

    @Test("Numbers that were given out there by a node are not given out again")
    func numbers() async throws {
        let adoption = try await adoption()
        #expect(try adoption.adopt(file).jobs == 1)
        let connection = try connect()
        try connection.script(
            """
            DELETE FROM timerd.jobs;
            UPDATE timerd.daemon_state SET jobs_through = 1000000000001,
                fires_through = 1000000000002, runs_through = 1000000000003,
                notices_through = 1000000000004, event_seq_end = 1000000000005, copied_at_us = 7
            """,
            within: .seconds(30)
        )
        #expect(try adoption.adopt(file).jobs == 1)
        let state = try connection.execute(
            """
            SELECT jobs_through, fires_through, runs_through, notices_through, event_seq_end,
                copied_at_us FROM timerd.daemon_state
            """,
            within: .seconds(30)
        )
        let used = (0..<5).map { (state.integer(0, $0) ?? 0) - 1_000_000_000_000 }
        #expect(used == [1, 2, 3, 4, 5])
        // Of a copy of a backup more may have been given out.
        #expect(state.integer(0, 5) == 7)
    }

    @Test(
        "What somebody has set there beside jobs is not thrown away",
        arguments: [
            (
                "INSERT INTO timerd.queues (owner_id, name, paused, max_reserved) VALUES (0, 'q', 0, 3)",
                "1 queues that are paused or have a limit"
            ),
            ("UPDATE timerd.owners SET maintenance_us = 5", "1 users in maintenance"),
            ("INSERT INTO timerd.notices (id) VALUES (1)", "1 notices to be handed over"),
        ]
    )
    func kept(change: String, words: String) async throws {
        let adoption = try await adoption()
        #expect(try adoption.adopt(file).jobs == 1)
        let connection = try connect()
        try connection.script("DELETE FROM timerd.jobs", within: .seconds(30))
        // A queue that says nothing is nobody's loss.
        try connection.script(
            "INSERT INTO timerd.queues (owner_id, name, paused) VALUES (0, 'empty', 0)",
            within: .seconds(30)
        )
        let owners = "DELETE FROM timerd.owners WHERE id <> 0"
        try connection.script("\(owners); \(change)", within: .seconds(30))
        let refusal = #expect(throws: DaemonError.self) { try adoption.adopt(file) }
        #expect(refusal?.description.contains(words) == true, "\(refusal?.description ?? "")")
        #expect(refusal?.status == .configuration)
        let jobs = try connection.execute("SELECT count(*) FROM timerd.jobs", within: .seconds(30))
        #expect(jobs.integer(0, 0) == 0)
    }

    @Test(
        "What is stored counts though the answer is lost and PostgreSQL lets nobody in for a while; the lease is given back",
        arguments: ["store", "lease"]
    )
    func lostAnswer(of table: String) async throws {
        let server = try PostgresServer(
            .init(settings: [
                "synchronous_standby_names": "nobody", "synchronous_commit": "local",
            ])
        )
        let connection = try PostgresHome.connect(
            PostgresAddress(server.address),
            within: .seconds(30)
        )
        let other = try PostgresHome.connect(
            PostgresAddress(server.address(user: "postgres", database: "template1")),
            within: .seconds(30)
        )
        try ClusterTables.prepare(connection, within: .seconds(30))
        // The first commit that counts waits for a standby that never comes, and is on the server's own disk by then.
        try connection.script(
            """
            CREATE SEQUENCE timerd.tries;
            CREATE FUNCTION timerd.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF nextval('timerd.tries') = 1 THEN PERFORM set_config('synchronous_commit', 'on', true); END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER wait BEFORE UPDATE ON timerd.\(table) FOR EACH ROW EXECUTE FUNCTION timerd.wait()
            """,
            within: .seconds(30)
        )
        var adoption = try await adoption(by: server)
        adoption.patience = .seconds(60)
        let outcome = Locked<Result<Int, any Error>?>(nil)
        try SystemThread.start(named: "adoption") { [adoption, file = file] in
            let result = Result { try adoption.adopt(file).jobs }
            outcome.withLock { $0 = result }
        }
        // Where it fails early, nothing more is waited for.
        func wait(until isSo: () throws -> Bool) async throws {
            while outcome.withLock({ $0 == nil }), try !isSo() { await Task.yield() }
        }
        let waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        try await wait { try !connection.execute(waiting, within: .seconds(30)).isEmpty }
        try other.script("ALTER DATABASE postgres ALLOW_CONNECTIONS false", within: .seconds(30))
        let ending = "SELECT count(pg_terminate_backend(pid)) FROM (\(waiting)) AS waiting"
        _ = try connection.execute(ending, within: .seconds(30))
        try await wait { server.log.contains("is not currently accepting connections") }
        try other.script("ALTER DATABASE postgres ALLOW_CONNECTIONS true", within: .seconds(30))
        try await wait { false }
        let result = try #require(outcome.withLock { $0 })
        let isAdopted = table == "store"
        if isAdopted {
            #expect(try result.get() == 1)
        } else {
            #expect(throws: DaemonError.self) { try result.get() }
        }
        let rows = try connection.execute(
            """
            SELECT node IS NULL, until < clock_timestamp(), to_regclass('timerd.jobs') IS NULL
            FROM timerd.lease
            """,
            within: .seconds(30)
        )
        #expect(rows.boolean(0, 0) == true)
        #expect(rows.boolean(0, 1) == true)
        #expect(rows.boolean(0, 2) != isAdopted)
    }

    @Test("A file whose tables are another build's is refused, and nothing is made there")
    func otherBuild() async throws {
        let database = try Database(path: file, mode: .readWriteCreate)
        try database.execute("ALTER TABLE outbox ADD COLUMN more INTEGER")
        database.close()
        let adoption = try await adoption()
        let refusal = #expect(throws: DaemonError.self) { try adoption.adopt(file) }
        let words = "'\(file)' has schema version 1, and was made by another build of that number"
        #expect(refusal?.description.contains(words) == true, "\(refusal?.description ?? "")")
        #expect(refusal?.status == .configuration)
        let tables = try connect().execute(
            "SELECT to_regclass('timerd.lease') IS NULL",
            within: .seconds(30)
        )
        #expect(tables.boolean(0, 0) == true)
    }

    @Test("A job of @reboot that has ended keeps nothing from it, and comes back on no shared jobs")
    func endedBoot() async throws {
        let test = try await TestScheduler(folder: folder.path, isShared: false)
        let job = try await test.add(ScheduleWords(cron: "@reboot")).id
        try await test.change(job, .invalidate)
        let moment = test.clock.now()
        let refusal = await #expect(throws: ControlError.self) {
            try await test.store.writer.write { database in
                database.home = CopyFailureTests.WillingHome()
                defer { database.home = nil }
                var transaction = JobTransaction(database, at: moment, horizon: .distantPast)
                try transaction.restore(#require(try transaction.job(job)))
            }
        }
        #expect(refusal?.message.contains("the schedule of job \(job), is about") == true)
        try await test.close()
        let adopted = try await adoption().adopt(file)
        #expect(adopted.jobs == 2)
    }

    @Test("Its lease is one of ten minutes for the nodes, too, and given back as a node gives it")
    func lease() throws {
        let connection = try connect()
        try ClusterTables.prepare(connection, within: .seconds(30))
        let taken = try connection.execute(
            JobAdoption.Statements.take,
            [.text("(adoption)")],
            within: .seconds(30)
        )
        let epoch = try #require(taken.integer(0, 0))
        func row() throws -> PostgresRows {
            try connection.execute(
                "SELECT length_us, until > clock_timestamp(), node FROM timerd.lease",
                within: .seconds(30)
            )
        }
        let held = try row()
        #expect(held.integer(0, 0) == 600_000_000)
        #expect(held.boolean(0, 1) == true)
        #expect(held.text(0, 2) == "(adoption)")
        _ = try connection.execute(
            JobAdoption.Statements.release,
            [.integer(epoch), .text("(adoption)")],
            within: .seconds(30)
        )
        let released = try row()
        #expect(released.boolean(0, 1) == false)
        #expect(released.text(0, 2) == nil)
    }

    @Test("Where another leads by then, it says so, has changed nothing, and leaves no transaction")
    func superseded() throws {
        let connection = try connect()
        try ClusterTables.prepare(connection, within: .seconds(30))
        _ = try connection.execute(
            "UPDATE timerd.lease SET epoch = 8, node = 'beta'",
            within: .seconds(30)
        )
        let copy = folder.path + "/copied.db"
        _ = try DatabaseCopy(of: file).write(to: copy, replacing: true, at: nil)
        let error = #expect(throws: DatabaseError.self) {
            try SharedCopy(at: copy).adopt(connection, node: "(adoption)", epoch: 7)
        }
        #expect(error?.sentence == "another node leads by now; nothing was changed")
        // A node that meets it stands by.
        #expect(error?.isLasting == false)
        let tables = try connection.execute(
            "SELECT to_regclass('timerd.jobs') IS NULL, number FROM timerd.store",
            within: .seconds(30)
        )
        #expect(tables.boolean(0, 0) == true)
        #expect(tables.integer(0, 1) == 0)
    }
}

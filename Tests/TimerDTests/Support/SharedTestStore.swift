// SPDX-License-Identifier: Apache-2.0

import Cluster
import Foundation
import Locks
import Logging
import Postgres
import Schedules
import TestPostgres
import Testing

@testable import SQLite
@testable import TimerD

/// Stores of tests whose jobs are in PostgreSQL: a database for each folder, and a new epoch for each start there, as of
/// another host.
///
/// With TIMERD_TEST_HOME=postgres in the environment all tests of the scheduler run on such stores.
final class SharedTestStore: Sendable {
    static let isWanted = ProcessInfo.processInfo.environment["TIMERD_TEST_HOME"] == "postgres"

    /// One server for all tests of the process.
    static let shared = Locked<SharedTestStore?>(nil)

    private struct State {
        var databases: [String: String] = [:]
        var count = 0
    }

    /// Unchecked: it is made once, and asked for its address alone, which does not change.
    private struct Server: @unchecked Sendable {
        var server: PostgresServer
    }

    private let server: Server
    private let address: String
    private let state = Locked(State())

    /// `settings`: of the server, where a test has one of its own.
    init(settings: [String: String] = [:]) throws {
        var settings = settings
        // A daemon that a test leaves as if it were dead keeps its connection.
        settings["max_connections"] = "300"
        let server = try PostgresServer(PostgresServer.Options(settings: settings))
        address = server.folder
        self.server = Server(server: server)
    }

    static func current() throws -> SharedTestStore {
        try shared.withLock { store in
            if let store { return store }
            let new = try SharedTestStore()
            store = new
            return new
        }
    }

    /// Where the jobs of a folder are.
    func address(of folder: String) throws -> PostgresAddress {
        let name = try state.withLock { state in
            if let name = state.databases[folder] { return name }
            state.count += 1
            let name = "jobs\(state.count)"
            let server = try connection("postgres")
            _ = try server.execute("CREATE DATABASE \(name)", within: .seconds(30))
            try connection(name).script(Self.tables, within: .seconds(30))
            state.databases[folder] = name
            return name
        }
        return try PostgresAddress(uri(name))
    }

    private func uri(_ database: String) -> String {
        "postgresql://postgres@/\(database)?host=\(address)"
    }

    private func connection(_ database: String) throws -> PostgresConnection {
        try PostgresConnection(
            PostgresAddress(uri(database)),
            application: "test",
            within: .seconds(30)
        )
    }

    /// As a node that begins to lead makes it; a folder that is new here may have a database.
    func database(in folder: String, name: String = "timerd.db") throws -> Database {
        let address = try address(of: folder)
        let connection = try PostgresConnection(
            address,
            application: "test",
            within: .seconds(30)
        )
        let lead = try Lead.test(address, connection)
        let path = folder + "/" + name
        try adopt(path, connection, epoch: lead.epoch)
        return try lead.copy(at: path)
    }

    /// Where nothing is in PostgreSQL yet, what a test has made in the place of the copy goes there.
    private func adopt(_ path: String, _ connection: PostgresConnection, epoch: Int64) throws {
        let version = try connection.execute(
            "SELECT version FROM timerd.store",
            within: .seconds(30)
        ).integer(0, 0)
        guard version == 0, access(path, F_OK) == 0 else { return }
        try SharedCopy(at: path).adopt(connection, node: "test", epoch: epoch).close()
        for ending in ["", "-wal", "-shm"] { unlink(path + ending) }
    }

    private static let tables = """
        CREATE SCHEMA timerd;
        CREATE TABLE timerd.lease (one int PRIMARY KEY, epoch bigint NOT NULL, node text,
            until timestamptz NOT NULL, UNIQUE (one, epoch));
        INSERT INTO timerd.lease VALUES (1, 0, 'test', now());
        CREATE TABLE timerd.store (one int PRIMARY KEY, number bigint NOT NULL,
            version bigint NOT NULL DEFAULT 0,
            fingerprint bigint NOT NULL DEFAULT 0, was_stored boolean NOT NULL DEFAULT false,
            table_id bigint NOT NULL);
        INSERT INTO timerd.store (one, number, table_id)
            VALUES (1, 0, \(ClusterTables.origin));
        """
}

extension Lead {
    /// Of a node that takes the lead now, and has it for good.
    static func test(_ address: PostgresAddress, _ connection: PostgresConnection) throws -> Lead {
        let rows = try connection.execute(
            "UPDATE timerd.lease SET epoch = epoch + 1, node = 'test' RETURNING epoch",
            within: .seconds(30)
        )
        let fence = Fence()
        fence.extend(to: .max)
        return Lead(
            address: address,
            node: "test",
            epoch: rows.integer(0, 0) ?? 0,
            fence: fence,
            listener: -1,
            onConnect: { _ in }
        )
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips what is of one host alone, where the tests' jobs are shared.
    static func ofOneHost(_ reason: Comment = "'@reboot' is about one machine") -> Self {
        .disabled(if: SharedTestStore.isWanted, reason)
    }
}

extension Store {
    /// A clock that stands: which writes share a commit does not depend on how fast the tests' machine is.
    @Sendable static func noWork() -> SuspendingClock.Instant { standing }
    private static let standing = SuspendingClock.now

    /// A test's store: a file's, or one whose jobs are in PostgreSQL where that is wanted.
    static func test(
        _ folder: String,
        isShared: Bool = SharedTestStore.isWanted,
        log: Logger = Logger(label: "test"),
        now: Timestamp
    ) throws -> Store {
        guard isShared else {
            return try Store(folder + "/timerd.db", workClock: noWork, log: log, now: now)
        }
        return try Store(
            SharedTestStore.current().database(in: folder),
            workClock: noWork,
            log: log,
            now: now,
            onLost: { _ in }
        )
    }
}

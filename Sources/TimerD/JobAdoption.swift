// SPDX-License-Identifier: Apache-2.0

import Cluster
import Glibc
import LinuxSystem
import Postgres
import SQLite

/// Puts the jobs of one host's database into PostgreSQL, where several hosts share them from then on.
///
/// Their numbers, history and events go with them. The file stays as it is.
public struct JobAdoption {
    private let shared: SharedJobs
    /// Where the copy is while it is read.
    private let copy: String

    private static let limit = Duration.seconds(60)
    /// Who leads meanwhile; no node can have that name.
    private static let name = "(adoption)"

    /// `configuration`: of a node.
    public init?(_ configuration: Configuration) {
        guard let shared = configuration.shared else { return nil }
        self.shared = shared
        copy = configuration.database + "-adopted"
    }

    /// - Returns: how many jobs there are.
    /// - Throws: `DaemonError`, if a daemon runs on the file, or PostgreSQL has jobs already; then nothing was changed.
    public func adopt(_ file: String) throws -> Int {
        do {
            let lock = try DatabaseLock(database: file)
            defer { lock.release() }
            try requireSharable(file)
            // Also what one that died has left.
            removeCopy()
            defer { removeCopy() }
            _ = try DatabaseCopy(of: file).write(
                to: copy,
                replacing: true,
                at: SystemClock.read().wall
            )
            let connection = try PostgresHome.connect(
                PostgresAddress(shared.text),
                within: Self.limit
            )
            defer { connection.close() }
            try ClusterTables.prepare(connection, within: Self.limit)
            return try adoptCopy(connection)
        } catch {
            throw DaemonError(starting: error)
        }
    }

    private func removeCopy() { for ending in ["", "-wal", "-shm"] { unlink(copy + ending) } }

    /// Refuses jobs that wait for the start of a machine, which jobs of several hosts cannot.
    private func requireSharable(_ file: String) throws {
        let database = try Database(path: file, mode: .readOnly)
        defer { database.close() }
        let jobs = try database.prepare(Statements.bootJobs).all {
            "\(try $0.get(0, as: Int64.self))"
        }
        guard !jobs.isEmpty else { return }
        throw DaemonError(
            "jobs of '\(file)' are due at '@reboot', which hosts do not share: \(jobs.joined(separator: ", "));"
                + " end them, or give them another schedule, before",
            .configuration
        )
    }

    private func adoptCopy(_ connection: PostgresConnection) throws -> Int {
        let stored = try connection.execute("SELECT version FROM timerd.store", within: Self.limit)
        guard stored.integer(0, 0) == 0 else {
            throw DaemonError(
                "'\(shared.redacted)' has jobs already; accepted is a database without any",
                .configuration
            )
        }
        let taken = try connection.execute(Statements.take, [.text(Self.name)], within: Self.limit)
        guard let epoch = taken.integer(0, 0) else {
            throw DaemonError("a node leads at '\(shared.redacted)': stop it first", .unavailable)
        }
        // try?: where it cannot be given back, it ends by itself.
        defer {
            _ = try? connection.execute(Statements.release, [.integer(epoch)], within: Self.limit)
        }
        let made = try SharedCopy(at: copy).make(
            connection,
            node: Self.name,
            epoch: epoch,
            adopting: true
        )
        defer { made.database.close() }
        let count = try made.database.prepare(Statements.count).value(as: Int.self)
        return count ?? 0
    }

    enum Statements {
        static let take = """
            UPDATE timerd.lease SET epoch = epoch + 1, node = $1, machine = NULL,
                until = clock_timestamp() + interval '10 minutes'
            WHERE until < clock_timestamp() RETURNING epoch
            """
        static let bootJobs = "SELECT job_id FROM boot_jobs ORDER BY 1 LIMIT 10"
        static let count = "SELECT count(*) FROM jobs"
        static let release = "UPDATE timerd.lease SET until = clock_timestamp() WHERE epoch = $1"
    }
}

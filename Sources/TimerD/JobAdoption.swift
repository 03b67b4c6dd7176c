// SPDX-License-Identifier: Apache-2.0

import Cluster
import Glibc
import LinuxSystem
import Platform
import Postgres
import SQLite
import SystemPackage

/// Puts the jobs of one host's database into PostgreSQL, where several hosts share them from then on.
///
/// Their numbers, history and events go with them. The file stays as it is.
public struct JobAdoption: Sendable {
    private let shared: SharedJobs
    /// The node's own file, beside which a copy is made to be read.
    private let database: String

    private static let limit = Duration.seconds(60)
    /// Of what is asked once a connection was lost.
    var patience = Duration.seconds(10)
    /// Who leads meanwhile; no node can have that name.
    static let name = "(adoption)"

    /// `configuration`: of a node.
    public init?(_ configuration: Configuration) {
        guard let shared = configuration.shared else { return nil }
        self.shared = shared
        database = configuration.database
    }

    /// What was put there.
    public struct Adopted: Sendable {
        /// Ended ones too.
        public var jobs: Int
        /// How many runs were in progress by the file.
        public var running: Int
    }

    /// - Throws: `DaemonError`, if the file is not to be believed, a daemon runs on it, or PostgreSQL has jobs already; then
    ///   nothing was changed, unless it says that this cannot be known.
    public func adopt(_ file: String) throws -> Adopted {
        do {
            // What is in it runs as root on each host.
            if let problem = TrustedPath.problem(withDatabase: file) {
                throw DaemonError(
                    "cannot take the jobs of '\(file)': \(problem); copy it to a folder of your own first",
                    .configuration
                )
            }
            // Before a lock is made beside it.
            guard try SystemDisk().size(of: file) != nil else {
                throw DaemonError(
                    "cannot take the jobs of '\(file)': \(Errno.noSuchFileOrDirectory.text)",
                    .configuration
                )
            }
            let lock = try DatabaseLock(database: file)
            defer { lock.release() }
            let running = try check(file)
            try TrustedPath.checkDatabase(database)
            let folder = try CopyFolder(for: database)
            defer { folder.remove() }
            // Nobody has given out a number since: the next one follows the last.
            try DatabaseCopy(of: file).make(in: folder, at: nil)
            let connection = try PostgresHome.connect(
                PostgresAddress(shared.text),
                within: Self.limit
            )
            defer { connection.close() }
            try ClusterTables.prepare(connection, within: Self.limit)
            return Adopted(jobs: try adoptCopy(folder.copy, connection), running: running)
        } catch {
            throw DaemonError(starting: error)
        }
    }

    /// Refuses a database of a newer timerd or of another build, and live jobs that wait for the start of a machine, which jobs of
    /// several hosts cannot.
    ///
    /// - Returns: how many runs are in progress.
    private func check(_ file: String) throws -> Int {
        let database = try Database(path: file, mode: .readOnly)
        defer { database.close() }
        _ = try Migrator(.released).check(database)
        let jobs = try database.prepare(Statements.bootJobs).all {
            "\(try $0.get(0, as: Int64.self))"
        }
        guard jobs.isEmpty else {
            throw DaemonError(
                "jobs of '\(file)' are due at '@reboot', which hosts do not share: \(jobs.joined(separator: ", "));"
                    + " end them, or give them another schedule, before",
                .configuration
            )
        }
        return try database.prepare(Statements.running).value(as: Int.self) ?? 0
    }

    private func adoptCopy(_ copy: String, _ connection: PostgresConnection) throws -> Int {
        let before = try connection.execute(Statements.epoch, within: Self.limit).integer(0, 0) ?? 0
        let taken: PostgresRows
        do throws(PostgresError) {
            taken = try connection.execute(Statements.take, [.text(Self.name)], within: Self.limit)
        } catch {
            if error.mayBeDone { giveBackIfTaken(before + 1, by: connection.backendPID) }
            throw error
        }
        guard let epoch = taken.integer(0, 0) else { throw try leaseRefusal(connection) }
        defer { giveBack(epoch, connection) }
        let place = SharedCopy(at: copy)
        // A node that led once has made the tables; those of another build may lack what is looked for in them.
        if try place.storedVersion(connection) != 0 { try checkTables(connection) }
        let number = try connection.execute(Statements.number, within: Self.limit).integer(0, 0)
        do {
            try place.adopt(connection, node: Self.name, epoch: epoch).close()
        } catch let error as PostgresError where error.isLost && error.mayBeDone {
            guard try isStored(after: number ?? 0, in: epoch, error) else { throw error }
        }
        let adopted = try Database(path: copy, mode: .readOnly)
        defer { adopted.close() }
        return try adopted.prepare(Statements.count).value(as: Int.self) ?? 0
    }

    /// Does something on another connection, and tries for a while: the server may be starting anew.
    private func again<Result>(
        _ body: (PostgresConnection, Duration) throws(PostgresError) -> Result
    ) throws(PostgresError) -> Result {
        let end = ContinuousClock.now + patience
        var pause: UInt32 = 10_000
        while true {
            let left = max(end - ContinuousClock.now, .milliseconds(1))
            do throws(PostgresError) {
                let connection = try PostgresHome.connect(
                    PostgresAddress(shared.text),
                    within: left
                )
                defer { connection.close() }
                return try body(connection, left)
            } catch {
                guard ContinuousClock.now < end else { throw error }
                usleep(pause)
                pause = min(pause * 2, 500_000)
            }
        }
    }

    /// Whether the one transaction of `epoch` is stored whose answer was lost; it is not any more where it is not.
    ///
    /// - Throws: that it cannot be known.
    private func isStored(
        after number: Int64,
        in epoch: Int64,
        _ lost: PostgresError
    ) throws(DaemonError) -> Bool {
        // try?: what was lost first says more.
        let isStored = try? again { connection, limit throws(PostgresError) -> Bool? in
            _ = try connection.execute(
                PostgresHome.Statements.end,
                [.integer(epoch)],
                within: limit
            )
            let rows = try connection.execute(
                PostgresHome.Statements.resolve,
                [.integer(epoch), .integer(number + 1)],
                within: limit
            )
            return rows.boolean(0, 1) == true ? rows.boolean(0, 0) : nil
        }
        if let isStored { return isStored }
        throw DaemonError(
            "whether '\(shared.redacted)' has the jobs now cannot be known: \(lost.message);"
                + " try again once PostgreSQL answers and the lease of this try has ended, 10 minutes from now at most:"
                + " if the jobs are there, it says so and changes nothing",
            .unavailable
        )
    }

    /// What a lost connection was about to do may be under way still: ended first, it holds the row until it is over.
    private func giveBackIfTaken(_ epoch: Int64, by backend: Int32) {
        // try?: where it cannot be given back, it ends by itself.
        _ = try? again { connection, limit throws(PostgresError) in
            let pid = PostgresValue.integer(Int64(backend))
            _ = try connection.execute(PostgresConnection.endFormer, [pid], within: limit)
            _ = try connection.execute(Statements.hold, within: limit)
            _ = try connection.execute(
                Statements.release,
                [.integer(epoch), .text(Self.name)],
                within: limit
            )
        }
    }

    /// Over another connection where that one is lost.
    private func giveBack(_ epoch: Int64, _ connection: PostgresConnection) {
        let parameters = [PostgresValue.integer(epoch), .text(Self.name)]
        do {
            _ = try connection.execute(Statements.release, parameters, within: Self.limit)
        } catch {
            // try?: where it cannot be given back, it ends by itself.
            _ = try? again { connection, limit throws(PostgresError) in
                try connection.execute(Statements.release, parameters, within: limit)
            }
        }
    }

    /// Refuses tables in PostgreSQL with something in them that would be gone without anybody being told.
    private func checkTables(_ connection: PostgresConnection) throws {
        let rows = try connection.execute(Statements.kept, within: Self.limit)
        let (jobs, queues) = (rows.integer(0, 0) ?? 0, rows.integer(0, 1) ?? 0)
        let (users, notices) = (rows.integer(0, 2) ?? 0, rows.integer(0, 3) ?? 0)
        guard jobs == 0 else {
            throw DaemonError(
                "'\(shared.redacted)' has \(jobs) jobs already, ended ones too; accepted is a database without any",
                .configuration
            )
        }
        guard queues == 0, users == 0, notices == 0 else {
            throw DaemonError(
                "'\(shared.redacted)' has no jobs, but what would be gone: \(queues) queues that are paused or have a limit,"
                    + " \(users) users in maintenance, \(notices) notices to be handed over; accepted is a database without any:"
                    + " start a node to end that, or drop the schema 'timerd' there",
                .configuration
            )
        }
    }

    /// Why the lease cannot be had.
    private func leaseRefusal(_ connection: PostgresConnection) throws -> DaemonError {
        let lease = try connection.execute(Statements.lease, within: Self.limit)
        let (holder, seconds) = (lease.text(0, 0) ?? "a node", lease.integer(0, 1) ?? 0)
        guard holder != Self.name else {
            return DaemonError(
                "another --adopt is at work at '\(shared.redacted)', or was cut off:"
                    + " try again in \(seconds) s, when its lease has ended",
                .unavailable
            )
        }
        return DaemonError(
            "'\(holder)' leads at '\(shared.redacted)', or did until now: stop it, and try again in \(seconds) s",
            .unavailable
        )
    }

    enum Statements {
        /// With its length, as nodes believe that rather than the database's clock.
        static let take = """
            UPDATE timerd.lease SET epoch = epoch + 1, node = $1, machine = NULL,
                until = clock_timestamp() + interval '10 minutes', length_us = 600000000
            WHERE until < clock_timestamp() RETURNING epoch
            """
        static let epoch = "SELECT epoch FROM timerd.lease"
        /// Returns once nobody changes the row.
        static let hold = "SELECT 1 FROM timerd.lease FOR UPDATE"
        static let lease = """
            SELECT node::text, ceil(greatest(extract(epoch FROM until - clock_timestamp()), 1))::bigint
            FROM timerd.lease
            """
        /// Jobs, and what there may be without them.
        static let kept = """
            SELECT (SELECT count(*) FROM timerd.jobs),
                (SELECT count(*) FROM timerd.queues
                    WHERE paused <> 0 OR max_reserved IS NOT NULL OR rate_count IS NOT NULL),
                (SELECT count(*) FROM timerd.owners WHERE maintenance_us IS NOT NULL),
                (SELECT count(*) FROM timerd.notices)
            """
        static let number = "SELECT number FROM timerd.store"
        static let running = "SELECT count(*) FROM fires WHERE state = 'running'"
        static let bootJobs = JobStore.SQL.bootIDs + " ORDER BY 1 LIMIT 10"
        static let count = "SELECT count(*) FROM jobs"
        /// Given back as a node does: else those that have seen it would wait for its length.
        ///
        /// By its name too: where the answer to `take` is lost, a node may have that epoch.
        static let release = """
            UPDATE timerd.lease SET node = NULL, until = clock_timestamp() WHERE epoch = $1 AND node = $2
            """
    }
}

// SPDX-License-Identifier: Apache-2.0

import Cluster
import Glibc
import Platform
import Postgres
import SQLite
import Schedules
import SystemPackage
import TimerControl

/// What a node leads with: the right to, for one epoch, and where the jobs are.
struct Lead: Sendable {
    var address: PostgresAddress
    /// The name of the node.
    var node: String
    var epoch: Int64
    /// What the node is called in jobs' `on` beside its name.
    var labels: [String] = []
    /// Whether no command is to begin on it.
    var drains = false
    /// How long ago its daemon was started.
    var age = TimeSpan.zero
    var fence: Fence
    /// How long the lease lasts: what is not stored by then is not waited for.
    var lease = SharedJobs.standardLease
    /// The control socket, which stays the node's, for it listens whether it leads or not.
    var listener: Int32
    /// By how much dates of the node that led before lie ahead of this one's, by their clocks.
    var clockDifference: Int64 = 0
    /// Is told which process of PostgreSQL serves this node's writes.
    var onConnect: @Sendable (_ backend: Int32) -> Void
    /// Is told why it is not known yet whether the last changes are stored.
    var onDoubt: @Sendable (_ reason: String) -> Void = { _ in }
    /// Knows the other nodes.
    var nodes: (any NodeRegistry)?

    /// Whether another node is there, by what the nodes tell each other; true while nobody can say.
    var isThere: (@Sendable (_ node: String) async -> Bool)? {
        guard let nodes else { return nil }
        return { name in
            // try?: without an answer nothing is known against it.
            guard let all = try? await nodes.nodes() else { return true }
            return all.contains { $0.name == name && $0.state != .gone }
        }
    }

    /// How long the runner of this node may say nothing until the node leads without having heard it: all that is due waits for it.
    ///
    /// Long enough for one on a busy machine, which is not looked for again for some seconds.
    static func patienceWithRunner(ofLease lease: Duration) -> Duration {
        min(max(lease / 3, .seconds(2)), .seconds(10))
    }

    /// Another descriptor of the control socket, for the core.
    ///
    /// - Throws: `Errno` where none is left.
    func openListener() throws -> Int32 {
        let descriptor = fcntl(listener, F_DUPFD_CLOEXEC, 3)
        guard descriptor != -1 else { throw Errno.last }
        return descriptor
    }

    /// Makes the copy of the jobs at `path`, whose writes go to PostgreSQL from then on.
    ///
    /// `limit`: how long the server may be silent.
    ///
    /// - Throws: `DatabaseError`, or `PostgresError`, which names who has locked what is read.
    func copy(
        at path: String,
        within limit: Duration = SharedCopy.standardLimit
    ) throws -> Database {
        let connection = try PostgresHome.connect(address, within: .seconds(10))
        var place = SharedCopy(at: path)
        place.limit = limit
        let copy: (database: Database, tables: [SharedTable], number: Int64)
        do {
            copy = try place.make(connection, node: node, epoch: epoch)
        } catch let error as PostgresError where connection.hasTimedOut {
            throw error.behind(holder(inFrontOf: connection.backendPID))
        }
        copy.database.home = PostgresHome(
            address,
            connection: connection,
            tables: copy.tables,
            node: node,
            epoch: epoch,
            number: copy.number,
            fence: fence,
            limit: max(.seconds(1), lease),
            onConnect: onConnect,
            onDoubt: onDoubt
        )
        return copy.database
    }

    /// See `PostgresHome.holder`; over a connection of its own, as that one waits.
    ///
    /// Not for long: others could lead, and wait until this node gives back the lease.
    private func holder(inFrontOf backend: Int32) -> LockHolder? {
        let limit = Duration.seconds(1)
        // try?: it is for the words alone.
        guard let other = try? PostgresHome.connect(address, within: limit) else { return nil }
        defer { other.close() }
        return PostgresHome.holder(inFrontOf: backend, on: other, within: limit)
    }
}

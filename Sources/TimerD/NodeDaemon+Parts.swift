// SPDX-License-Identifier: Apache-2.0

import Cluster
import LinuxSystem
import Logging
import Platform
import Postgres
import SQLite
import Schedules
import TimerControl

/// What a node consists of beside its core.
extension NodeDaemon {
    /// Keeps the node among the others, and says what becomes of it in `changes`.
    static func keeper(
        _ shared: SharedJobs,
        _ address: PostgresAddress,
        _ configuration: Configuration,
        _ changes: AsyncStream<Change>.Continuation,
        _ standing: NodeStanding,
        _ log: Logger
    ) throws -> NodeKeeper {
        let folder = try DatabaseLock.resolve(configuration.database)
        let settings = NodeKeeper.Settings(
            address: address,
            node: NodeIdentity(
                name: shared.node,
                machine: NodeIdentity.machine(folder: folder),
                version: timerdVersion,
                labels: shared.labels
            ),
            terms: LeaseTerms(length: Int64(shared.lease / .microseconds(1)))
        )
        let database: Logger.MetadataValue = "\(shared.redacted)"
        return try NodeKeeper(
            settings,
            NodeKeeper.Listeners(
                onLead: { changes.yield(.lead(epoch: $0, formerClock: $1)) },
                onStopLeading: { changes.yield(.stopLeading($0)) },
                onLeaderChange: { changes.yield(.leader($0)) },
                onDrain: {
                    standing.drains = $0
                    changes.yield(.drains($0))
                },
                onTrouble: { error in
                    standing.trouble = error.description
                    log.error(
                        "the database cannot be used",
                        metadata: ["database": database, "error": "\(error)"]
                    )
                },
                onRecovered: {
                    standing.trouble = nil
                    log.notice("the database can be used again", metadata: ["database": database])
                },
                onClockNews: { $0.tell(log) }
            )
        )
    }

    /// Carries clients to the node that leads.
    static func relay(
        _ shared: SharedJobs,
        _ address: PostgresAddress,
        _ configuration: Configuration,
        _ standing: NodeStanding,
        _ log: Logger
    ) throws -> Relay {
        var limits = RelayLimits()
        // Before timerctl gives up, which waits for 10 s and could not say why.
        limits.leaderWait = .seconds(8)
        limits.maxConnections = configuration.maxConnections
        limits.maxConnectionsPerUser = configuration.maxConnectionsPerUser
        return try Relay(
            node: shared.node,
            carrier: NotifyCarrier(node: shared.node, address: address),
            limits: limits,
            Relay.Surroundings(
                refuse: { line, refusal in
                    ReplyLine.failure(
                        id: requestID(of: line),
                        ControlError(refusal, at: shared.node, standing)
                    )
                        + [UInt8(ascii: "\n")]
                },
                report: { log.debug("relay", metadata: ["news": "\($0)"]) }
            )
        )
    }

    /// The id of a request, for the answer to it; null where it has none, or is cut.
    private static func requestID(of line: [UInt8]) -> JSONValue {
        // try?: what is no JSON has no id.
        guard case .object(let members)? = try? JSONValue(parsing: line) else { return .null }
        return members["id"] ?? .null
    }
}

extension ControlError {
    /// Why this node has not passed a request on; `standing`: what keeps it from leading.
    init(_ refusal: RelayRefusal, at node: String, _ standing: NodeStanding) {
        switch refusal {
        case .noLeader:
            self.init(
                .storageFailed,
                "no node leads at the moment, and '\(node)' has waited for one"
                    + (standing.reason.map { " (\($0))" } ?? "") + "; nothing was changed"
            )
        case .carrierAway(let reason):
            // What the relay meets follows from that.
            let reason = standing.trouble ?? reason
            self.init(.storageFailed, "'\(node)' has no connection with the database: \(reason)")
        case .leaderAway(let leader, let reason):
            self.init(
                .storageFailed,
                "'\(leader)', which leads, does not answer '\(node)': \(reason)"
            )
        case .tooManyConnections(let limit):
            self.init(
                .limitReached,
                "\(limit) clients are connected to '\(node)', which is as many as are accepted"
            )
        case .tooManyOfUser(let uid, let limit):
            self.init(
                .limitReached,
                "uid \(uid) has \(limit) connections to '\(node)', which is as many as are accepted"
            )
        case .unknownUser(let uid, let reason):
            self.init(.notPermitted, "who uid \(uid) is cannot be found out: \(reason)")
        case .stopping: self.init(.stopping, "the daemon is stopping")
        }
    }
}

extension StopReason {
    /// The end of "this node leads no more: ".
    var words: String {
        switch self {
        case .leaseOver: "its lease could not be renewed in time"
        case .leaseLost(let holder): "'\(holder ?? "another node")' leads"
        case .drains: "it drains"
        case .leaves: "it stops"
        }
    }
}

/// The nodes, as PostgreSQL has them.
struct ClusterDesk: NodeDesk {
    let keeper: NodeKeeper
    /// In which this node leads.
    let epoch: Int64

    func nodes() async throws(ControlError) -> [NodeView] {
        let found: [NodeStatus]
        do throws(ClusterError) {
            found = try await keeper.nodes()
        } catch {
            throw ControlError(.storageFailed, "the nodes cannot be read: \(error)")
        }
        let now = SystemClock.read().wall
        return found.map { node in
            NodeView(
                name: node.name,
                state: node.isThere
                    ? node.drains ? .draining : node.leads ? .leading : .standby : .gone,
                version: node.version,
                host: node.host,
                labels: node.labels,
                startedAt: Timestamp(microseconds: node.startedAt),
                leaseUntil: now + TimeSpan(microseconds: node.remaining),
                clockDifference: node.clockDifference ?? 0,
                runs: Int(node.runs),
                epoch: node.leads ? epoch : nil,
                drainingSince: node.drainsSince.map { Timestamp(microseconds: $0) }
            )
        }
    }

    func drain(_ name: String, _ drains: Bool, by caller: Caller) async throws(ControlError) {
        do throws(ClusterError) {
            try await keeper.drain(name, drains)
        } catch {
            if case .refused(let refusal) = error, refusal.code == .unknownNode {
                throw ControlError(.notFound, refusal.message)
            }
            throw ControlError(.storageFailed, "'\(name)' cannot be told: \(error)")
        }
    }
}

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
            terms: LeaseTerms(length: Int64(shared.lease / .microseconds(1))),
            makingStore: makingStore
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
                    let trouble = NodeStanding.Trouble(error)
                    standing.trouble = trouble
                    log.error(
                        "\(trouble.words)",
                        metadata: ["database": database, "error": "\(error)"]
                    )
                },
                onRecovered: {
                    let wasOfName = standing.trouble?.isOfName == true
                    standing.trouble = nil
                    log.notice(
                        wasOfName
                            ? "this node takes part: its name is free"
                            : "the database can be used again",
                        metadata: ["database": database]
                    )
                },
                onClockNews: { $0.tell(log) },
                onFormerName: {
                    log.warning(
                        "this node was called otherwise before: commands that were in progress on it count as interrupted",
                        metadata: ["before": "\($0)", "node": "\(shared.node)"]
                    )
                }
            )
        )
    }

    /// The statement that puts the row `timerd.store` back where a timerd of this version led last.
    static var makingStore: String {
        let migrations: [Migration] = .released
        return ClusterTables.makingStore(
            version: migrations.count,
            fingerprint: Int64(bitPattern: migrations.last?.fingerprint ?? 0)
        )
    }

    /// Carries clients to the node that leads.
    static func relay(
        _ shared: SharedJobs,
        _ address: PostgresAddress,
        _ configuration: Configuration,
        _ keeper: NodeKeeper,
        _ standing: NodeStanding,
        _ log: Logger
    ) throws -> Relay {
        var limits = RelayLimits()
        // Before timerctl gives up, which waits for 10 s and could not say why.
        limits.leaderWait = .seconds(8)
        let taken = configuration.connections(within: DescriptorLimit.most)
        (limits.maxConnections, limits.maxConnectionsPerUser) = (taken.all, taken.ofUser)
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
                report: { news in
                    switch news {
                    case .carrierBroken(let reason):
                        keeper.relayIsAway(true)
                        // Before the keeper's first answer the tables may not be made yet.
                        let isNews = standing.relayBroke(
                            reason,
                            knowsDatabase: keeper.clockDifference != nil
                        )
                        log.log(
                            level: isNews ? .warning : .debug,
                            "no other node can be reached",
                            metadata: ["error": "\(reason)"]
                        )
                    case .carrierConnected:
                        keeper.relayIsAway(false)
                        guard standing.relayConnected() else { return }
                        log.notice("other nodes can be reached again")
                    case .linkClosed, .payloadIgnored, .cannotAccept:
                        log.debug("relay", metadata: ["news": "\(news)"])
                    }
                }
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
    ///
    /// `now`: in µs of CLOCK_BOOTTIME.
    init(
        _ refusal: RelayRefusal,
        at node: String,
        _ standing: NodeStanding,
        now: Int64 = Fence.now()
    ) {
        switch refusal {
        case .noLeader:
            // Without the database it does not know who leads.
            if let trouble = standing.trouble {
                self.init(.storageFailed, "\(trouble.sentence(at: node)); nothing was changed")
                return
            }
            self.init(
                .storageFailed,
                "no node leads at the moment, and '\(node)' has waited for one"
                    + (standing.reason(at: now).map { " (\($0))" } ?? "") + "; nothing was changed"
            )
        case .carrierAway(let reason):
            // What the relay meets follows from that.
            let sentence = standing.trouble?.sentence(at: node)
            self.init(
                .storageFailed,
                sentence ?? "'\(node)' has no connection with the database: \(reason)"
            )
        case .leaderAway(let leader, let reason):
            // Who has been refused by the database since does not know whether that node leads still.
            let sentence = standing.trouble?.sentence(at: node)
            self.init(
                .storageFailed,
                sentence ?? "'\(leader)', which leads, does not answer '\(node)': \(reason)"
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

extension ControlError {
    /// What requests are told once this node gives up the lead.
    static func noMoreLed(by node: String, _ reason: String) -> Self {
        Self(
            .stopping,
            "'\(node)' leads no more: \(reason); nothing was changed, and another node leads soon, or this one again"
        )
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
        case .relayAway:
            "its relay has no connection with the database, so that it reaches no other node, and another has one"
        }
    }
}

/// The nodes, as PostgreSQL has them.
struct ClusterRegistry: NodeRegistry {
    let keeper: NodeKeeper
    /// In which this node leads.
    let epoch: Int64
    let standing: NodeStanding

    var relayTrouble: String? { standing.relayTrouble }

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
                epoch: node.leads ? epoch : nil,
                drainingSince: node.drainsSince.map { Timestamp(microseconds: $0) }
            )
        }
    }

    func drain(_ name: String, _ drains: Bool, by caller: Caller) async throws(ControlError) {
        do throws(ClusterError) {
            try await keeper.drain(name, drains)
        } catch {
            guard case .refused(let refusal) = error else {
                throw ControlError(.storageFailed, "'\(name)' cannot be told: \(error)")
            }
            switch refusal.code {
            case .unknownNode: throw ControlError(.notFound, refusal.message)
            case .lastNode: throw ControlError.lastNode(name)
            default: throw ControlError(.storageFailed, "'\(name)' cannot be told: \(error)")
            }
        }
    }
}

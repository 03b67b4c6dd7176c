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
        return try NodeKeeper(settings, listeners(shared, changes, standing, log))
    }

    /// What the keeper tells: it becomes a change of the node, is noted in `standing`, or is logged.
    private static func listeners(
        _ shared: SharedJobs,
        _ changes: AsyncStream<Change>.Continuation,
        _ standing: NodeStanding,
        _ log: Logger
    ) -> NodeKeeper.Listeners {
        let database: Logger.MetadataValue = "\(shared.redacted)"
        return NodeKeeper.Listeners(
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
            },
            onHeldLease: { holder in
                standing.leaseHolder = holder
                guard let holder else { return }
                log.error("no node can lead", metadata: ["reason": "\(holder.words)"])
            }
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
        guard !CombiningMarks.areTooMany(in: line),
            case .object(let members)? = try? JSONValue(parsing: line)
        else { return .null }
        return members["id"] ?? .null
    }
}

// SPDX-License-Identifier: Apache-2.0

import Cluster
import LinuxSystem
import Schedules
import TimerControl

/// The nodes, as PostgreSQL has them.
struct ClusterRegistry: NodeRegistry {
    let keeper: NodeKeeper
    let standing: NodeStanding

    var relayTrouble: String? { standing.relayTrouble }

    func nodes(
        _ read: @escaping @Sendable ([NodeView]) -> Void
    ) async throws(ControlError) -> [NodeView] {
        do throws(ClusterError) {
            return views(of: try await keeper.nodes { read(views(of: $0)) })
        } catch {
            throw ControlError(.storageFailed, "the nodes cannot be read: \(error)")
        }
    }

    private func views(of nodes: [NodeStatus]) -> [NodeView] {
        Self.views(of: nodes, now: SystemClock.read().wall, ahead: keeper.clockDifference ?? 0)
    }

    /// `ahead`: by how much this host's clock, of which `now` is, is ahead of the database's, in µs.
    static func views(of nodes: [NodeStatus], now: Timestamp, ahead: Int64) -> [NodeView] {
        func date(_ stored: Int64) -> Timestamp { Timestamp(microseconds: stored + ahead) }
        return nodes.map { node in
            NodeView(
                name: node.name,
                state: state(of: node),
                version: node.version,
                host: node.host,
                labels: node.labels,
                startedAt: date(node.startedAt),
                leaseUntil: now + TimeSpan(microseconds: node.remaining),
                clockDifference: node.clockDifference ?? 0,
                epoch: node.epoch,
                drainingSince: node.drainsSince.map(date)
            )
        }
    }

    private static func state(of node: NodeStatus) -> NodeView.State {
        guard node.isThere else { return .gone }
        if node.drains { return .draining }
        return node.leads ? .leading : .standby
    }

    func drain(
        _ name: String,
        _ drains: Bool,
        stored: @escaping @Sendable (_ drains: Bool) -> Void
    ) async throws(ControlError) {
        do throws(ClusterError) {
            try await keeper.drain(name, drains, stored: stored)
        } catch {
            throw Self.refusal(error, of: name)
        }
    }

    /// What a client is told who has asked for a node to drain, or to drain no more.
    static func refusal(_ error: ClusterError, of name: String) -> ControlError {
        if case .refused(let refusal) = error {
            switch refusal.code {
            case .unknownNode: return ControlError(.notFound, refusal.message)
            case .lastNode: return ControlError.lastNode(name)
            default: break
            }
        }
        guard error.mayBeDone else {
            return ControlError(.storageFailed, "'\(name)' cannot be told: \(error)")
        }
        return ControlError(
            .storageFailed,
            "whether '\(name)' was told cannot be known: \(error); 'timerctl nodes' says whether it drains"
        )
    }
}

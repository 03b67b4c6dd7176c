// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Knows the daemons that share their jobs with this one, itself among them.
protocol NodeRegistry: Sendable {
    /// Why no other node can be reached; nil while they can be.
    var relayTrouble: String? { get }

    /// All nodes as they stand now, in any order.
    ///
    /// `read` is called with them before this returns, in its place among what `drain` calls: what is stored later is told later.
    ///
    /// - Throws: `storageFailed` while the database that they share does not answer.
    func nodes(
        _ read: @escaping @Sendable ([NodeView]) -> Void
    ) async throws(ControlError) -> [NodeView]

    /// Has the node of that name begin nothing more and not lead, or lets it lead again; either is durable when this
    /// returns, and harmless where it is so already.
    ///
    /// `stored` is called before this returns, with how it stands: of several in the order in which they are stored.
    ///
    /// Only administrators have it called. A node that leads goes on doing so until its runs have ended.
    ///
    /// - Throws: `notFound` for a node that has been forgotten meanwhile; `lastNode` for one that is there while no other may
    ///   lead, also where that was told to drain just before; `storageFailed`.
    func drain(
        _ name: String,
        _ drains: Bool,
        stored: @escaping @Sendable (_ drains: Bool) -> Void
    ) async throws(ControlError)
}

extension NodeRegistry {
    var relayTrouble: String? { nil }

    func nodes() async throws(ControlError) -> [NodeView] { try await nodes { _ in } }

    /// Has the scheduler of the node that leads know a node whose agent has come; false where nothing is known of it.
    ///
    /// A drain that is stored at that moment is not undone by what was read before it.
    func join(_ name: String, _ scheduler: Scheduler) async -> Bool {
        // try?: the agent comes again.
        let views = try? await nodes { views in
            guard let node = views.first(where: { $0.name == name }) else { return }
            // Its row may have ended: its agent is there all the same, and what drains stays drained.
            let drains = node.state == .draining || node.drainingSince != nil
            scheduler.perform { $0.nodeJoined(name, labels: Set(node.labels), drains: drains) }
        }
        return views?.contains { $0.name == name } == true
    }
}

// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Schedules
import TimerControl

/// The daemons that share their jobs.
extension CommandHandler {
    /// `node.list`: by name; none of a daemon alone.
    func listNodes() async throws -> Answer {
        guard let nodes else { return NodesReply(nodes: [], now: clock.now().wall) }
        return NodesReply(nodes: try await views(of: nodes), now: clock.now().wall)
    }

    /// The nodes by name, with the runs of this one, which leads, as they are now.
    private func views(of registry: any NodeRegistry) async throws -> [NodeView] {
        var views = try await registry.nodes().sorted { $0.name < $1.name }
        let runs = await scheduler.runs(onEach: views.map(\.name))
        let silent = await scheduler.silentHosts
        for (index, count) in runs.enumerated() {
            views[index].runs = count
            let isSilent = views[index].state != .gone && silent.contains(views[index].name)
            views[index].runnerIsSilent = isSilent ? true : nil
        }
        return views
    }

    /// `node.drain`.
    ///
    /// It answers how the node stands by that, without another look: the one that leads may end connections by
    /// then.
    func drainNode(_ request: DrainNode, _ caller: Caller) async throws -> Answer {
        try requireAdministrator(caller, "node.drain")
        guard let nodes else {
            throw ControlError(
                .conflict,
                "this daemon shares its jobs with no other host (setting 'database')"
            )
        }
        let known = try await views(of: nodes)
        guard var node = known.first(where: { $0.name == request.name }) else {
            throw ControlError.noNode(request.name, among: known)
        }
        // In the order in which they are stored: a drain and its undo may be asked for at once.
        try await nodes.drain(request.name, request.drains) { [scheduler] drains in
            scheduler.perform { $0.drainNode(request.name, drains) }
        }
        // Some may have begun since the look, and `drain --wait` counts on that there are none: from here on none does.
        node.runs = await scheduler.runs(onEach: [request.name]).first
        if node.state != .gone {
            let state: NodeView.State = node.leads ? .leading : .standby
            node.state = request.drains ? .draining : state
        }
        node.drainingSince = request.drains ? node.drainingSince ?? clock.now().wall : nil
        return NodeReply(node: node)
    }
}

extension ControlError {
    /// No node but that one may lead.
    static func lastNode(_ name: String) -> Self {
        Self(
            .conflict,
            "no node but '\(name)' may lead: it would lead on, and no command begin;"
                + " stop it instead, or start another first"
        )
    }

    /// There is no node of that name, but those of `nodes`.
    static func noNode(_ name: String, among nodes: [NodeView]) -> Self {
        let known = nodes.map { "'\($0.name)'" }.joined(separator: ", ")
        let hint = known.isEmpty ? "none has told of itself yet" : "the nodes are \(known)"
        return Self(.notFound, "there is no node '\(name)'; \(hint)")
    }
}

// SPDX-License-Identifier: Apache-2.0

public import Schedules
public import TimerControl

/// The findings about daemons that share their jobs.
extension Finding {
    /// A node whose lease is over for as long is not just being restarted.
    private static let restart = TimeSpan.seconds(60)
    /// A node that drains for as long may have been forgotten.
    private static let maintenance = TimeSpan.seconds(86_400)

    /// One for all of them if all is well, else one for each thing that is not.
    public static func nodes(_ reply: NodesReply) -> [Self] {
        let nodes = reply.nodes
        // Of the one that leads, status says it.
        let silent = nodes.filter { $0.runnerIsSilent == true && !$0.leads }.map(silentRunner(of:))
        let findings =
            nodes.filter(\.isClockOff).map(distantClock)
            + nodes.filter { $0.state == .gone && reply.now - $0.leaseUntil > restart }
            .map { gone($0, at: reply.now) }
            + silent
            + nodes.compactMap { draining($0, among: nodes, at: reply.now) }
            + [alone(nodes)].compactMap(\.self)
        return findings.isEmpty ? [.ok("nodes", sentence(nodes))] : findings
    }

    /// The nodes could not be listed, for that reason.
    public static func unknownNodes(_ reason: String) -> Self {
        .warning(
            "nodes",
            "they cannot be listed: \(reason)",
            "mend what it says; this node goes on while its lease runs, and by itself once the database answers"
        )
    }

    private static func distantClock(_ node: NodeView) -> Self {
        let side = node.clockDifference < 0 ? "behind" : "ahead of"
        return .warning(
            "nodes",
            "the clock of '\(node.name)' is \(node.clockLead.length) \(side) the database's",
            "timedatectl set-ntp true on \(node.place), and on the database's machine: jobs by date follow the clock "
                + "of the node that leads"
        )
    }

    private static func gone(_ node: NodeView, at now: Timestamp) -> Self {
        let end = "its lease ended \(RelativeTime.words(from: now, to: node.leaseUntil))"
        let forgotten = "it is forgotten 7 days after that, as another node starts"
        guard node.drainingSince != nil else {
            return .warning(
                "nodes",
                "'\(node.name)' is gone: \(end)",
                "start timerd on \(node.place); journalctl -u timerd there says why it ended, or does not reach the "
                    + "database; where it does not come back, \(forgotten)"
            )
        }
        let undo = ShellWords.joined(["timerctl", "drain", node.name, "--undo"])
        return .warning(
            "nodes",
            "'\(node.name)' is gone, and drained: \(end)",
            "start timerd on \(node.place), or \(undo) where it is not to come back: then \(forgotten)"
        )
    }

    private static func silentRunner(of node: NodeView) -> Self {
        .warning(
            "nodes",
            "timerd-runner of '\(node.name)' does not answer: no command begins there",
            advice(on: .silent)
        )
    }

    private static func draining(
        _ node: NodeView,
        among nodes: [NodeView],
        at now: Timestamp
    ) -> Self? {
        guard node.state == .draining else { return nil }
        let undo = ShellWords.joined(["timerctl", "drain", node.name, "--undo"])
        if node.leads, !nodes.contains(where: { $0.state == .standby }) {
            return .warning(
                "nodes",
                "'\(node.name)' drains, and leads, as no other node may: no command begins on it",
                "\(undo), or start timerd on another host"
            )
        }
        guard let since = node.drainingSince, now - since > maintenance else { return nil }
        return .warning(
            "nodes",
            "'\(node.name)' has been draining for \((now - since).length), and takes over nothing",
            "\(undo), once it may lead again"
        )
    }

    /// Nobody takes over where the node that leads is gone; nil if somebody does.
    private static func alone(_ nodes: [NodeView]) -> Self? {
        guard !nodes.contains(where: { $0.state == .standby }) else { return nil }
        let alive = nodes.filter { $0.state != .gone }
        let others = alive.filter { !$0.leads }.map { "'\($0.name)'" }
        guard let leader = alive.first(where: \.leads) ?? alive.first else { return nil }
        guard others.isEmpty else {
            return .warning(
                "nodes",
                "none stands by for '\(leader.name)' but \(others.joined(separator: ", ")), which "
                    + (others.count == 1 ? "drains" : "drain") + ": no command would begin there",
                "timerctl drain NODE --undo for one of them, or start timerd on another host"
            )
        }
        return .warning(
            "nodes",
            "'\(leader.name)' is the only one: where it ends, nothing fires until it is back",
            "start timerd on another host, with the same setting 'database'"
        )
    }

    /// "'a' leads, 'b', 'c' stand by; their clocks are within 3 ms of the database's".
    private static func sentence(_ nodes: [NodeView]) -> String {
        let words = [
            ("leads", "lead", nodes.filter(\.leads)),
            ("stands by", "stand by", nodes.filter { $0.state == .standby }),
            ("drains", "drain", nodes.filter { $0.state == .draining && !$0.leads }),
        ].compactMap { one, several, nodes in
            nodes.isEmpty
                ? nil
                : nodes.map { "'\($0.name)'" }.joined(separator: ", ")
                    + " \(nodes.count == 1 ? one : several)"
        }
        let widest = nodes.lazy.filter { $0.state != .gone }.map(\.clockLead).max() ?? .zero
        return words.joined(separator: ", ")
            + "; their clocks are within \(widest.length) of the database's"
    }
}

extension NodeView {
    /// How far its clock is from the database's, ahead or behind.
    public var clockLead: TimeSpan {
        TimeSpan(microseconds: Int64(clamping: clockDifference.magnitude))
    }

    /// Where something is to be done.
    fileprivate var place: String { "'\(host ?? name)'" }
}

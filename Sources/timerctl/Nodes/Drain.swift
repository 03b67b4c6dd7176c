// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerWords

/// `timerctl drain`: has a node begin nothing more, so that another leads.
struct Drain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain",
        abstract: "Have no command begin on a node and hand over its lead, or undo that.",
        discussion: """
            For root and the user that the daemon runs as, from any of the hosts. Commands begin on \
            other nodes, and those in progress go on. A node that leads does so until they have \
            ended; then another leads. It stays so, also over a restart, until --undo. With --wait \
            the exit status is 75 where the node is gone in the end: its timerd-runner may go on \
            with its runs.

            Examples:
              timerctl drain alpha --wait && ssh alpha reboot
              timerctl drain alpha --undo
              timerctl nodes   # has the names
            """
    )

    @Argument(help: ArgumentHelp("The node's name.", valueName: "node"), completion: .nodes)
    var node: String

    @Flag(help: "Let commands begin on it, and let it lead, again.")
    var undo = false

    @Flag(help: "Wait until it has no runs, and does not lead any more.")
    var wait = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if undo, wait { throw ValidationError("--wait waits for a drain; --undo ends one") }
    }

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        // Before it drains: the connection may be closed once another leads.
        let nodes = try await daemon.ask(.listNodes, for: NodesReply.self).value.nodes
        let request = DrainNode(name: node, drains: !undo)
        let answer = try await daemon.ask(.drainNode(request), for: NodeReply.self)
        let drained = answer.value.node
        let sentence = undo ? Self.undone(drained) : Self.sentence(drained, among: nodes)
        guard common.json else {
            try Output.write(sentence + "\n", done: sentence)
            guard wait else { return }
            guard drained.isBusy else { return try Self.check(drained) }
            let after = try await waitForEnd().value.nodes
            try Self.check(after.first { $0.name == node })
            return try Output.write(Self.end(of: drained, among: after) + "\n")
        }
        try Output.write(answer.jsonLine("node"), done: sentence)
        guard wait else { return }
        guard drained.isBusy else { return try Self.check(drained) }
        let after = try await waitForEnd()
        try Output.write(after.jsonLines("nodes"))
        try Self.check(after.value.nodes.first { $0.name == node })
    }

    /// Whether it is known that a node whose wait is over has no runs.
    ///
    /// - Throws: `Failure` where it is gone: its runs count as interrupted, and may go on all the same.
    static func check(_ node: NodeView?) throws {
        guard let node, node.state == .gone else { return }
        throw Failure(
            .unknownEnd,
            "\(node.title) is gone, and what its runs do is not known: its timerd-runner may go on with them"
        )
    }

    private func waitForEnd() async throws -> Answer<NodesReply> {
        let common = common
        return try await DrainWait(node: node) {
            try await Daemon.ask(common, .listNodes, for: NodesReply.self)
        }.run()
    }

    // MARK: - Words

    /// What will happen now that `node` drains.
    static func sentence(_ node: NodeView, among nodes: [NodeView]) -> String {
        let undo = ShellWords.command(["timerctl", "drain", node.name, "--undo"])
        if node.state == .gone {
            return "\(node.title) is gone, 'timerctl nodes' says since when; "
                + "no command begins on it if it comes back; \(undo) undoes that, and has it be forgotten if it does not"
        }
        guard node.leads else {
            let start = "no command begins on \(node.title), and it leads only where no other can; "
            switch node.runs {
            case 0, nil: return start + "\(undo) undoes that"
            case 1: return start + "its run goes on; \(undo) undoes that"
            case let runs?: return start + "its \(runs) runs go on; \(undo) undoes that"
            }
        }
        let start = "no command begins on \(node.title) any more; "
        guard nodes.contains(where: { $0.name != node.name && $0.state == .standby }) else {
            return start
                + "no other node stands by: none begins anywhere until one does, or \(undo)"
        }
        switch node.runs {
        case 0: return start + "it has no runs, and another node leads at once"
        case 1: return start + "once its run has ended another node leads"
        case let runs:
            let count = runs.map { "\($0) " } ?? ""
            return start + "once its \(count)runs have ended another node leads"
        }
    }

    static func undone(_ node: NodeView) -> String {
        switch node.state {
        case .leading:
            "\(node.title) may lead, and run commands, again; if it has begun to hand over, it does that first"
        case .gone:
            "\(node.title) may lead, and run commands, again; it is gone, 'timerctl nodes' says since when"
        case .standby, .draining: "\(node.title) may lead, and run commands, again"
        }
    }

    /// How the nodes stand once `node` has no runs, and leads no more.
    static func end(of node: NodeView, among nodes: [NodeView]) -> String {
        guard node.leads else { return "\(node.title) has no runs any more" }
        let leader = nodes.first(where: \.leads).map { "\($0.title) does" }
        return "\(node.title) leads no more; \(leader ?? "no node does yet")"
    }
}

extension CompletionKind {
    static let nodes = shellCommand("timerctl complete nodes 2>/dev/null")
}

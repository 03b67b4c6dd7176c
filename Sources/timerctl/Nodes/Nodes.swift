// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl nodes`: the daemons that share their jobs, in a table.
struct Nodes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nodes",
        abstract: "List the daemons that share their jobs: which leads, and how each is.",
        discussion: """
            One of them leads: it fires all jobs, and the others stand by to take over. LEASE is how \
            long a node is still taken for alive, CLOCK how far its clock is ahead of the database's, \
            in red beyond 100 ms. LABELS is what --on of 'timerctl add' may call a node beside its \
            name, where any has some.

            Examples:
              timerctl nodes
              timerctl nodes --json | jq -r 'select(.state == "gone") | .name'
            """
    )

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let answer = try await Daemon.ask(common, .listNodes, for: NodesReply.self)
        guard !answer.value.nodes.isEmpty else {
            return Output.tell(
                "this daemon shares its jobs with no other host (setting 'database')"
            )
        }
        if common.json { return try Output.write(answer.jsonLines("nodes")) }
        try Output.write(Self.table(of: answer.value).text(for: .current))
    }

    /// Times are counted from the daemon's clock in the answer.
    static func table(of reply: NodesReply) -> Table {
        // Which machine it is on is only worth a column where its name does not say so.
        let showsHost = reply.nodes.contains { ($0.host ?? $0.name) != $0.name }
        var table = Table(columns: [.init(title: "NODE", narrowest: 8)])
        if showsHost { table.columns.append(.init(title: "HOST", narrowest: 8, rank: 4)) }
        let showsLabels = reply.nodes.contains { !$0.labels.isEmpty }
        if showsLabels { table.columns.append(.init(title: "LABELS", narrowest: 8, rank: 4)) }
        table.columns += [
            .init(title: "STATE"), .init(title: "LEASE"),
            .init(title: "CLOCK", isRightAligned: true, rank: 1),
            .init(title: "RUNS", isRightAligned: true, rank: 2),
            .init(title: "VERSION", rank: 5), .init(title: "STARTED", rank: 3),
        ]
        table.rows = reply.nodes.map { node in
            var cells: [Table.Cell] = [.init(node.name)]
            if showsHost { cells.append(.init(node.host ?? "-")) }
            if showsLabels { cells.append(.init(node.labelWords)) }
            return cells + [
                .init(node.stateWords, node.stateStyle), .init(node.lease(at: reply.now)),
                .init(node.clockWords, node.isClockOff ? .red : nil),
                .init(node.runs.map { "\($0)" } ?? "-"), .init(node.version),
                .init(node.startedAt.map { RelativeTime.words(from: reply.now, to: $0) } ?? "-"),
            ]
        }
        return table
    }
}

extension NodeView {
    /// "'a'", also of a name that would move the cursor.
    var title: String { "'\(Printable.escaped(name))'" }

    /// "gpu,ssd", as `--labels` takes them; "-" of a node that has none.
    var labelWords: String { labels.isEmpty ? "-" : labels.joined(separator: ",") }

    /// "standby"; of a node that drains, whether it leads still, or is gone; "standby, no runner" where that does not answer.
    var stateWords: String {
        let words =
            switch state {
            case .draining where leads: "draining, leads"
            case .gone where drainingSince != nil: "gone, drained"
            case .leading, .standby, .draining, .gone: state.rawValue
            }
        return words + (runnerIsSilent == true ? ", no runner" : "")
    }

    /// Red where it does nothing that it is there for.
    var stateStyle: Terminal.Style? { runnerIsSilent == true ? .red : state.style }

    /// "8 s", or since when the lease is over: "ended 5 min ago".
    func lease(at now: Timestamp) -> String {
        let rest = leaseUntil - now
        return rest > .zero ? rest.length : "ended \(RelativeTime.words(from: now, to: leaseUntil))"
    }

    /// "+3 ms" for a clock ahead of the database's; "-" of a node that is gone, whose clock nobody knows.
    var clockWords: String {
        guard state != .gone else { return "-" }
        let length = clockLead.length
        if length == "0 ms" { return length }
        return (clockDifference < 0 ? "-" : "+") + length
    }
}

extension NodeView.State {
    var style: Terminal.Style? {
        switch self {
        case .leading: .green
        case .standby: nil
        case .draining: .yellow
        case .gone: .red
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Waits until a node that drains has no runs, and leads no more.
///
/// There is no event for that: the nodes are asked for again and again. While the lead changes hands connections are
/// closed and requests refused, so that each look has a connection of its own, and may fail.
struct DrainWait {
    /// After so long without an answer nobody is going to give one: a lease ends several times in it.
    ///
    /// Counted as time: a node refuses a look at once, or when it has waited 8 s for another to lead.
    static let patience = Duration.seconds(60)

    let node: String
    /// Asks for the nodes, by a new connection.
    let look: () async throws -> Answer<NodesReply>
    /// Waits between two looks.
    var pause: () async throws -> Void = { try await Task.sleep(for: .seconds(1)) }
    /// Does not go on while this host is suspended, as nothing could be asked.
    var now: () -> SuspendingClock.Instant = { .now }

    init(node: String, look: @escaping () async throws -> Answer<NodesReply>) {
        (self.node, self.look) = (node, look)
    }

    /// All nodes, of which this one has no runs and does not lead.
    ///
    /// A node that is gone is waited for while it has runs: its runner may go on with them. It comes back, or they count as
    /// interrupted.
    ///
    /// - Throws: `Failure` where it drains no more: somebody has undone it; the last one where looks
    ///   went on failing for `patience`.
    func run() async throws -> Answer<NodesReply> {
        var answered = now()
        while true {
            let answer: Answer<NodesReply>?
            do {
                answer = try await look()
                answered = now()
            } catch let error as Failure where [.unavailable, .refused].contains(error.status) {
                guard now() - answered < Self.patience else { throw error }
                answer = nil
            }
            if let answer {
                let view = answer.value.nodes.first { $0.name == node }
                guard let view, view.isBusy else { return answer }
                guard view.state == .draining || view.state == .gone else {
                    throw Failure(
                        .refused,
                        "\(view.title) drains no more\(view.leads ? ", and leads on" : "")"
                    )
                }
            }
            try await pause()
        }
    }
}

extension NodeView {
    /// Whether something has to end before it is drained.
    var isBusy: Bool { leads || runs.map { $0 > 0 } ?? false }
}

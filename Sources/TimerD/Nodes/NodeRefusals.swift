// SPDX-License-Identifier: Apache-2.0

import Cluster
import TimerControl

// What clients of a node are told where it cannot answer them.

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

    /// The same, where it has not begun to give up the lead by now.
    static func leaseIsOver(at node: String) -> Self {
        noMoreLed(by: node, StopReason.leaseOver.words)
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

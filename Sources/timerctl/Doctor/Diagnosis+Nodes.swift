// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerWords

/// The findings about daemons that share their jobs.
extension Diagnosis {
    /// None of a daemon alone, of which there is nothing to say.
    static func nodes(_ answer: Result<NodesReply, Failure>?) -> [Finding] {
        switch answer {
        case .success(let reply): Finding.nodes(reply)
        case .failure(let failure): [Finding.unknownNodes(failure.message)]
        case nil: []
        }
    }

    /// What is not looked at where the node that leads, and answers, is on another machine: `leader`.
    ///
    /// `seesOwn`: whether the process of this host's node is known.
    static func passedOn(by leader: NodeView, seesOwn: Bool) -> Finding {
        let host = "'\(leader.host ?? leader.name)'"
        let unseen =
            seesOwn
            ? "control groups and disk" : "control groups, disk, configuration and service"
        return Finding(
            level: .ok,
            subject: "host",
            text: "what is said of settings, runner, limits, storage and database "
                + "is of '\(leader.name)', which leads on \(host); not looked at were this host's timerd-runner, "
                + "\(unseen), and that host's disk and service",
            advice: "timerctl doctor on \(host) looks at those there; timerctl nodes says whether "
                + "this host's timerd-runner answers, and journalctl -u timerd -u timerd-runner "
                + "here has the rest"
        )
    }
}

extension NodesReply {
    /// The node that leads, and answers, if it is on another machine than `host`: another node passes on what it says.
    func leader(elsewhereThan host: String) -> NodeView? {
        guard let leader = nodes.first(where: \.leads), let place = leader.host, place != host
        else { return nil }
        return leader
    }

    /// Whether a node takes commands beside that one, as far as is known.
    func takeCommands(besides node: String?) -> Bool {
        nodes.contains { $0.name != node && $0.state == .standby && $0.runnerIsSilent != true }
    }
}

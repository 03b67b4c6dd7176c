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
}

extension NodesReply {
    /// Whether the node that leads, and answers, is on another machine than `host`: another node passes on what it says.
    func isLed(elsewhereThan host: String) -> Bool {
        nodes.first(where: \.leads)?.host.map { $0 != host } ?? false
    }
}

// SPDX-License-Identifier: Apache-2.0

import Cluster
import Testing
import TimerControl

@testable import TimerD

/// What a client is told that has waited in vain for a node to lead.
@Suite("NodeStanding") struct NodeStandingTests {
    private static func message(_ standing: NodeStanding) -> String {
        ControlError(RelayRefusal.noLeader, at: "beta", standing).message
    }

    @Test("Why its own node does not lead is said, the database's trouble first")
    func reasons() {
        let standing = NodeStanding()
        let start = "no node leads at the moment, and 'beta' has waited for one"
        #expect(Self.message(standing) == "\(start); nothing was changed")
        standing.drains = true
        #expect(Self.message(standing) == "\(start) (it drains); nothing was changed")
        standing.failure = "no space left"
        #expect(
            Self.message(standing)
                == "\(start) (it could not lead itself: no space left); nothing was changed"
        )
        standing.trouble = "connection refused"
        #expect(
            Self.message(standing)
                == "\(start) (the database cannot be used: connection refused); nothing was changed"
        )
        // What the relay meets follows from that.
        let away = RelayRefusal.carrierAway("no such relation")
        #expect(
            ControlError(away, at: "beta", standing).message
                == "'beta' has no connection with the database: connection refused"
        )
        (standing.trouble, standing.failure, standing.drains) = (nil, nil, false)
        #expect(Self.message(standing) == "\(start); nothing was changed")
    }
}

// SPDX-License-Identifier: Apache-2.0

package import SystemPackage

/// Who is at the far end of a relayed connection.
package struct RelayedPeer: Hashable, Sendable {
    /// The node whose control socket he has connected to.
    package var node: String
    /// His name on that host; nil where it has none for his number.
    package var userName: String?
    /// His number on that host, which may be another's here.
    package var uid: UInt32
    /// Whether it is no client, but the node itself, which runs commands for the one that leads.
    package var isAgent: Bool

    package init(node: String, userName: String?, uid: UInt32, isAgent: Bool = false) {
        self.node = node
        self.userName = userName
        self.uid = uid
        self.isAgent = isAgent
    }

    package var isRoot: Bool { uid == 0 }
}

/// Why a client is answered by this node instead of the one that leads.
package enum RelayRefusal: Equatable, Sendable {
    /// No node has begun to lead in the time that a client waits.
    case noLeader
    /// PostgreSQL is away, for that reason.
    case carrierAway(String)
    /// The node that leads has not taken the connection.
    case leaderAway(node: String, reason: String)
    case tooManyConnections(limit: Int)
    case tooManyOfUser(uid: UInt32, limit: Int)
    /// Who the client is could not be found out.
    case unknownUser(uid: UInt32, reason: String)
    case stopping
}

/// What a relay tells whoever keeps a log.
package enum RelayNews: Equatable, Sendable {
    case carrierConnected
    case carrierBroken(reason: String)
    /// The connections that were relayed to or from that node were closed.
    case linkClosed(node: String, reason: String, connections: Int)
    case payloadIgnored(reason: String)
    case cannotAccept(Errno)
}

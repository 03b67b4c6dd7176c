// SPDX-License-Identifier: Apache-2.0

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

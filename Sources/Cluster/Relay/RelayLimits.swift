// SPDX-License-Identifier: Apache-2.0

/// What a relay takes, and how long it waits.
package struct RelayLimits: Sendable {
    /// Clients of this node.
    package var maxConnections = 1000
    /// Fewer than all, so that root always finds a place.
    package var maxConnectionsPerUser = 900
    /// Connections that other nodes may have here while this one leads, all nodes together.
    package var maxRelayedHere = 10_000
    /// How many connections a link carries, one after the other, until another takes its place; fewer for tests alone.
    package var connectionsPerLink = UInt32.max
    /// How long a client waits for a node that leads, and for PostgreSQL.
    package var leaderWait = Duration.seconds(15)
    /// How long a client may take for the last bytes it was sent, once its connection is over.
    package var flushWait = Duration.seconds(10)
    /// How often a node that has relayed connections with another, and nothing to say, shows that it is there.
    package var pingInterval = Duration.seconds(5)
    /// The same until the other has answered first: it may not have listened yet when it was written to.
    package var firstPingInterval = Duration.milliseconds(250)
    /// How long the other may be silent until the connections with it are closed.
    package var silence = Duration.seconds(15)
    /// How long to wait before a connection is opened again that the other node did not take.
    package var retryPause = Duration.milliseconds(100)
    /// Bytes that the connections of a user of one host are promised to have kept here, beyond 16 KiB for each.
    package var maxGrownPerUser = 16 << 20
    /// The same of all users.
    package var maxGrown = 24 << 20
    /// Characters that may wait for PostgreSQL until clients are not read any more.
    package var maxUnsent = 1 << 20
    /// Bytes that a user's connections may add to that until his are not, where much waits.
    package var maxUnsentPerUser = 1 << 17

    package init() {}
}

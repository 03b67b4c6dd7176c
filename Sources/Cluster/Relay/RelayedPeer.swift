// SPDX-License-Identifier: Apache-2.0

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

// SPDX-License-Identifier: Apache-2.0

/// A session of the server that is no node's, and for which nodes wait.
package struct LockHolder: Sendable, Equatable {
    /// The process of the server.
    package var process: Int64
    /// The table that it has locked, or a row of it, as "timerd.lease"; nil where that is not known.
    package var table: String?

    package init(process: Int64, table: String? = nil) {
        (self.process, self.table) = (process, table)
    }

    /// Whether a node that waits for it cannot write its own row.
    var isOfOwnRow: Bool { table == "timerd.nodes" }

    /// What it does, for logs and clients.
    package var words: String {
        let what =
            table.map { "holds a row of \($0), or the table" } ?? "has locked what this waits for"
        return "process \(process) of PostgreSQL, which is no node's, \(what)"
    }
}

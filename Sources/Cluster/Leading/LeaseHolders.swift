// SPDX-License-Identifier: Apache-2.0

/// What holds the row of the lease, so that nobody can take it.
package enum LeaseHolders {
    /// For a FROM: the processes of the server, `pid`, that have a commit of a node under way, or whose client went in the
    /// middle of a statement that writes the row.
    ///
    /// They are found by their locks, and by nothing that a node has said of them: one that has lost a connection within a
    /// commit has another since, one that has given the lease back is named there no more, and a pooler makes up numbers.
    /// `FOR KEY SHARE` is a commit's alone; another node that is about to take the lease may wait for the row, and not for
    /// its client.
    package static let processes = """
        (SELECT activity.pid FROM pg_stat_activity AS activity JOIN pg_locks AS held ON held.pid = activity.pid
        WHERE activity.datname = current_database() AND \(isNodes)
            AND activity.pid <> pg_backend_pid() AND held.granted
            AND held.locktype = 'relation' AND held.database = activity.datid
            AND held.relation = 'timerd.lease'::regclass
            AND (held.mode = 'RowShareLock'
                OR (held.mode = 'RowExclusiveLock' AND activity.wait_event = 'ClientRead')))
        """

    /// The lowest number of a process that is no node's and could hold the row: who only reads, and a VACUUM, do not.
    static let stranger = """
        SELECT min(held.pid)::bigint
        FROM pg_locks AS held JOIN pg_stat_activity AS activity ON activity.pid = held.pid
        WHERE held.granted AND held.locktype = 'relation' AND held.database = activity.datid
            AND held.relation = 'timerd.lease'::regclass
            AND held.mode NOT IN ('AccessShareLock', 'ShareUpdateExclusiveLock')
            AND \(isNodes) IS NOT TRUE
        """

    /// Whether a session is of a node, of those of its sessions that write or lock the row: the one that stores jobs, and its keeper's.
    ///
    /// By their whole names: somebody who works on the database may call his own `timerd-admin`, and is not to be ended. A role
    /// that is not this one's cannot be ended by it, and is told of.
    private static let isNodes = """
        (activity.usename = current_user
            AND (activity.application_name = 'timerd' OR activity.application_name LIKE 'timerd node %'))
        """

    /// What one that is no node's does, for logs and clients.
    package static func words(ofStranger process: Int64) -> String {
        "process \(process) of PostgreSQL, which is no node's, holds the row of timerd.lease, or its table"
    }
}

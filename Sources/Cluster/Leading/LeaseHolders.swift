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

    /// The first process that is no node's and may be in the way of a statement that writes the tables $1, and which table it has
    /// locked: of one that is written who only reads, and a VACUUM, are in nobody's way; of another one only who lets nobody read.
    static let stranger = """
        SELECT held.pid::bigint, 'timerd.' || class.relname
        FROM pg_locks AS held JOIN pg_stat_activity AS activity ON activity.pid = held.pid
            JOIN pg_class AS class ON class.oid = held.relation
        WHERE activity.datname = current_database()
            AND held.granted AND held.locktype = 'relation' AND held.database = activity.datid
            AND class.relnamespace = to_regnamespace('timerd')
            AND class.relname IN ('lease', 'nodes', 'store')
            AND (held.mode = 'AccessExclusiveLock' OR (class.relname = ANY ($1::text[])
                AND held.mode NOT IN ('AccessShareLock', 'ShareUpdateExclusiveLock')))
            AND \(isNodes) IS NOT TRUE
        ORDER BY class.relname, held.pid LIMIT 1
        """

    /// The first process that is no node's and for whose lock, of a table or a row, the process $1 waits.
    package static let blocking = """
        SELECT activity.pid::bigint
        FROM pg_stat_activity AS activity
        WHERE activity.pid = ANY (pg_blocking_pids($1::integer)) AND \(isNodes) IS NOT TRUE
        ORDER BY activity.pid LIMIT 1
        """

    /// Whether a session is of a node, of those of its sessions that write or lock the row: the one that stores jobs, and its keeper's.
    ///
    /// By their whole names: somebody who works on the database may call his own `timerd-admin`, and is not to be ended. A role
    /// that is not this one's cannot be ended by it, and is told of.
    private static let isNodes = """
        (activity.usename = current_user
            AND (activity.application_name = 'timerd' OR activity.application_name LIKE 'timerd node %'))
        """
}

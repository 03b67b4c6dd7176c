// SPDX-License-Identifier: Apache-2.0

import Postgres

/// What is asked of the nodes' rows beside the renewals.
enum NodeTable {
    /// On which nodes tell each other to look at the lease.
    static let channel = "timerd_lease"

    /// Listens for the other nodes, and waits for nobody's lock for long from then on.
    ///
    /// Not with the row, which may be locked: what was set with it would be undone.
    static func listen(
        _ terms: LeaseTerms,
        on connection: PostgresConnection,
        within limit: Duration
    ) throws(ClusterError) {
        do throws(PostgresError) {
            _ = try connection.pipeline(
                [
                    PostgresStatement(
                        """
                        SELECT set_config('lock_timeout', $1, false),
                            set_config('statement_timeout', $2, false)
                        """,
                        [.text("\(terms.lock / 1000)"), .text("\(terms.statement / 1000)")]
                    ),
                    PostgresStatement("LISTEN \(channel)"),
                ],
                within: limit
            )
        } catch {
            throw .from(error, doing: "write its tables")
        }
    }

    /// Has the node's row be this process's.
    ///
    /// A row that is in force is taken over only from a process before on the same machine.
    ///
    /// - Returns: what the last node of this machine was called, if that was otherwise.
    static func register(
        _ node: NodeIdentity,
        _ terms: LeaseTerms,
        on connection: PostgresConnection,
        within limit: Duration
    ) throws(ClusterError) -> String? {
        let name = PostgresValue.text(node.name)
        let rows: [PostgresRows]
        do throws(PostgresError) {
            rows = try connection.pipeline(
                [
                    // Before it is there itself: one that came back under its name is no news.
                    PostgresStatement(
                        """
                        SELECT name FROM timerd.nodes WHERE machine = $2 AND name <> $1
                            AND until > coalesce((SELECT until FROM timerd.nodes
                                WHERE name = $1 AND machine = $2), '-infinity')
                        ORDER BY until DESC LIMIT 1
                        """,
                        [name, .text(node.machine)]
                    ),
                    PostgresStatement(
                        registering,
                        [
                            name, .text(node.machine), .text(node.incarnation), .text(node.host),
                            .text(node.version), .texts(node.labels), .integer(terms.length),
                        ]
                    ),
                    PostgresStatement("SELECT host FROM timerd.nodes WHERE name = $1", [name]),
                    PostgresStatement(forgetting, [name]),
                ],
                within: limit
            )
        } catch {
            throw .from(error, doing: "write its tables")
        }
        guard rows[1].affected == 0 else { return rows[0].text(0, 0) }
        let host = rows[2].text(0, 0) ?? "another host"
        throw ClusterTables.refusal(
            .nameInUse,
            "the name '\(node.name)' is in use by the node on '\(host)': "
                + "each node needs a name of its own ('--node NAME')"
        )
    }

    /// Whether the node's row is there, and is this process's; who has locked it is not waited for.
    static func isThere(
        _ node: NodeIdentity,
        on connection: PostgresConnection,
        within limit: Duration
    ) throws(PostgresError) -> Bool {
        let rows = try connection.execute(
            """
            SELECT EXISTS (SELECT FROM timerd.nodes
                WHERE name = $1 AND machine = $2 AND incarnation = $3)
            """,
            [.text(node.name), .text(node.machine), .text(node.incarnation)],
            within: limit
        )
        return rows.boolean(0, 0) ?? false
    }

    static func all(
        on connection: PostgresConnection,
        within limit: Duration
    ) throws(ClusterError) -> [NodeStatus] {
        let rows: PostgresRows
        do throws(PostgresError) {
            rows = try connection.execute(listing, within: limit)
        } catch {
            throw .from(error, doing: "read its tables")
        }
        return (0..<rows.count).map { row in
            NodeStatus(
                name: rows.text(row, 0) ?? "",
                host: rows.text(row, 1) ?? "",
                version: rows.text(row, 2) ?? "",
                labels: (rows.text(row, 3) ?? "").split(separator: "\n").map(String.init),
                startedAt: rows.integer(row, 4) ?? 0,
                remaining: rows.integer(row, 5) ?? 0,
                drains: rows.boolean(row, 6) ?? false,
                drainsSince: rows.integer(row, 9),
                epoch: rows.integer(row, 7),
                clockDifference: rows.integer(row, 8)
            )
        }
    }

    /// Has a node drain, or no more; not the last that may lead, which would have nobody to hand over to.
    ///
    /// One that could not lead just now counts: commands begin there, and the node that drains leads on meanwhile.
    ///
    /// Two of these at once would not see each other's rows, and could drain the last two. All go over one connection, one after
    /// the other: that of the node that leads, which is asked wherever it is asked.
    static func drain(
        _ node: String,
        _ drains: Bool,
        on connection: PostgresConnection,
        within limit: Duration
    ) throws(ClusterError) {
        let rows: [PostgresRows]
        do throws(PostgresError) {
            rows = try connection.pipeline(
                [
                    PostgresStatement(
                        """
                        UPDATE timerd.nodes SET drains = $2,
                            drains_since = CASE WHEN $2 THEN coalesce(drains_since, clock_timestamp()) END
                        WHERE name = $1
                            AND (NOT $2 OR drains OR until < clock_timestamp()
                                OR \(LeaseStatements.othersTakeCommands))
                        """,
                        [.text(node), .boolean(drains)]
                    ),
                    PostgresStatement(
                        "SELECT name FROM timerd.nodes WHERE name = $1",
                        [.text(node)]
                    ),
                    PostgresStatement("SELECT pg_notify('\(channel)', '')"),
                ],
                within: limit
            )
        } catch {
            throw .from(error, doing: "write its tables")
        }
        guard rows[0].affected == 0 else { return }
        guard rows[1].isEmpty else {
            throw ClusterTables.refusal(.lastNode, "no node but '\(node)' may lead")
        }
        throw ClusterTables.refusal(.unknownNode, "there is no node '\(node)'")
    }

    /// Whether a node drains, for certain also after what a connection of this node's keeper may have under way that was lost, and
    /// that `backend` served; nil where there is no such node.
    static func drains(
        _ node: String,
        after backend: Int32,
        on connection: PostgresConnection,
        within limit: Duration
    ) throws(ClusterError) -> Bool? {
        let rows: [PostgresRows]
        do throws(PostgresError) {
            rows = try connection.pipeline(
                [
                    // It may be about to read it.
                    PostgresStatement(
                        PostgresConnection.endFormer,
                        [.integer(Int64(backend))]
                    ),
                    // Waits for it where it has the row.
                    PostgresStatement(
                        "SELECT drains FROM timerd.nodes WHERE name = $1 FOR SHARE",
                        [.text(node)]
                    ),
                ],
                within: limit
            )
        } catch {
            throw .from(error, doing: "write its tables")
        }
        return rows[1].boolean(0, 0)
    }

    /// Has the node's row be no longer in force, and tells the others: one that drains may have to lead.
    static func leave(
        _ node: NodeIdentity,
        on connection: PostgresConnection,
        within limit: Duration
    ) throws(PostgresError) {
        _ = try connection.execute(
            """
            WITH gone AS (
                UPDATE timerd.nodes SET until = clock_timestamp()
                WHERE name = $1 AND incarnation = $2 RETURNING name
            )
            SELECT count(pg_notify('\(channel)', '')) FROM gone
            """,
            [.text(node.name), .text(node.incarnation)],
            within: limit
        )
    }

    private static let registering = """
        INSERT INTO timerd.nodes AS node
            (name, machine, incarnation, host, version, labels, started_at, until)
        VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp(),
            clock_timestamp() + $7::bigint * interval '1 microsecond')
        ON CONFLICT (name) DO UPDATE SET
            machine = excluded.machine, incarnation = excluded.incarnation,
            host = excluded.host, version = excluded.version, labels = excluded.labels,
            started_at = CASE WHEN node.incarnation = excluded.incarnation THEN node.started_at
                ELSE excluded.started_at END,
            stands_aside_until = CASE WHEN node.incarnation = excluded.incarnation
                THEN node.stands_aside_until END,
            until = excluded.until
        WHERE node.machine = excluded.machine OR node.until < clock_timestamp()
        """

    private static let forgetting = """
        DELETE FROM timerd.nodes
        WHERE name <> $1 AND until < clock_timestamp() - interval '7 days' AND NOT drains
        """

    private static let listing = """
        SELECT nodes.name, host, version, array_to_string(labels, chr(10)),
            (extract(epoch FROM started_at) * 1000000)::bigint,
            (extract(epoch FROM nodes.until - clock_timestamp()) * 1000000)::bigint,
            drains,
            CASE WHEN lease.node = nodes.name AND lease.machine = nodes.machine
                AND lease.until > clock_timestamp() THEN lease.epoch END,
            nodes.clock_difference_us,
            (extract(epoch FROM drains_since) * 1000000)::bigint
        FROM timerd.nodes CROSS JOIN timerd.lease
        ORDER BY nodes.name
        """
}

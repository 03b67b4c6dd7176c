// SPDX-License-Identifier: Apache-2.0

import Postgres

/// What a node asks of the lease's row: one statement and one round trip each.
struct LeaseStatements {
    /// What the node's own row says from the next renewal on.
    struct OwnRow {
        var clockDifference: Int64?
        /// The server's process of the connection on which the node commits; nil while it does not.
        var storeBackend: Int32?
        /// For how many µs more nodes that drain are to lead rather than this one, which could not; nil for one that may.
        var standsAside: Int64?
    }

    /// An answer, and what the database's clock showed, in µs since 1970.
    struct Reply {
        var answer: LeaseAnswer
        var clock: Int64
    }

    let node: NodeIdentity
    let terms: LeaseTerms

    /// Nil where the node's own row is gone, or of another node with its name.
    func renew(
        epoch: Int64?,
        _ row: OwnRow,
        on connection: PostgresConnection,
        within limit: Duration
    ) throws(PostgresError) -> Reply? {
        let parameters: [PostgresValue] = [
            .text(node.name), .text(node.machine), .text(node.incarnation),
            .integer(terms.length), .some(row.clockDifference),
            .some(row.storeBackend.map(Int64.init)), .some(epoch), .integer(terms.unread),
            .some(row.standsAside),
        ]
        let rows = try run(Self.renewing, parameters, connection, limit)
        return reply(rows, done: .renewed)
    }

    /// Nil where the node's own row is gone, or of another node with its name.
    func take(
        _ seen: Leadership.Seen,
        on connection: PostgresConnection,
        within limit: Duration
    ) throws(PostgresError) -> Reply? {
        let parameters: [PostgresValue] = [
            .text(node.name), .text(node.machine), .text(node.incarnation),
            .integer(terms.length), .integer(seen.epoch), .integer(seen.until),
            .boolean(seen.isSurelyOver),
        ]
        let rows = try run(Self.taking, parameters, connection, limit)
        return reply(rows, done: .taken(epoch: rows.integer(0, 2) ?? 0))
    }

    /// Tells with the release that the node could not lead, so that one that drains, and is told of the one, knows the other.
    func release(
        _ epoch: Int64,
        standsAside: Int64?,
        on connection: PostgresConnection,
        within limit: Duration
    ) throws(PostgresError) -> Reply? {
        let parameters: [PostgresValue] = [
            .text(node.name), .text(node.machine), .text(node.incarnation), .integer(epoch),
            .some(standsAside),
        ]
        return reply(try run(Self.releasing, parameters, connection, limit), done: .none)
    }

    /// Ends the connections on which nodes that led commit, where the lease is over: a commit hangs, and keeps everybody
    /// from taking it.
    ///
    /// Answers how many processes of the server were ended.
    func endFormerCommit(
        _ seen: Leadership.Seen,
        on connection: PostgresConnection,
        within limit: Duration
    ) throws(PostgresError) -> Int64 {
        let parameters: [PostgresValue] = [
            .integer(seen.epoch), .integer(seen.until), .boolean(seen.isSurelyOver),
            .text(node.name), .text(node.machine),
        ]
        return try run(Self.ending, parameters, connection, limit).integer(0, 0) ?? 0
    }

    /// Who is no node, and may be in the way of a statement that writes these tables; nil where there is nobody.
    func stranger(
        writing tables: [String],
        on connection: PostgresConnection,
        within limit: Duration
    ) throws(PostgresError) -> LockHolder? {
        let rows = try run(LeaseHolders.stranger, [.texts(tables)], connection, limit)
        return rows.integer(0, 0).map { LockHolder(process: $0, table: rows.text(0, 1)) }
    }

    /// Whether a node that may lead is there, beside this one, whose relay has a connection.
    func othersCarry(
        on connection: PostgresConnection,
        within limit: Duration
    ) throws(PostgresError) -> Bool {
        try run(Self.carrying, [.text(node.name)], connection, limit).boolean(0, 0) ?? false
    }

    /// A row without which no node leads, and which somebody may have removed.
    enum NeededRow {
        case lease, store
    }

    /// The first that is missing; nil where both are there.
    func missingRow(
        on connection: PostgresConnection,
        within limit: Duration
    ) throws(PostgresError) -> NeededRow? {
        let sql = "SELECT EXISTS (SELECT FROM timerd.lease WHERE one = 1), \(Self.hasStore)"
        let rows = try connection.execute(sql, within: limit)
        if rows.boolean(0, 0) == false { return .lease }
        return rows.boolean(0, 1) == false ? .store : nil
    }

    private func run(
        _ sql: String,
        _ parameters: [PostgresValue],
        _ connection: PostgresConnection,
        _ limit: Duration
    ) throws(PostgresError) -> PostgresRows {
        let statement = PostgresStatement(sql, parameters, isPrepared: true)
        return try connection.pipeline([statement], within: limit)[0]
    }

    private func reply(_ rows: PostgresRows, done: LeaseAnswer.Outcome) -> Reply? {
        guard let drains = rows.boolean(0, 0) else { return nil }
        let lease = Lease(
            epoch: rows.integer(0, 2) ?? 0,
            holder: rows.text(0, 3),
            isOwn: rows.boolean(0, 4) ?? false,
            until: rows.integer(0, 5) ?? 0,
            remaining: rows.integer(0, 6) ?? 0,
            length: rows.integer(0, 7) ?? 0
        )
        let answer = LeaseAnswer(
            outcome: rows.boolean(0, 1) == true ? done : .none,
            lease: lease,
            rank: Int(rows.integer(0, 8) ?? 0),
            drains: drains,
            othersMayLead: rows.boolean(0, 10) ?? true,
            formerClock: rows.integer(0, 11)
        )
        return Reply(answer: answer, clock: rows.integer(0, 9) ?? 0)
    }
}

extension PostgresValue {
    fileprivate static func some(_ value: Int64?) -> Self { value.map { .integer($0) } ?? .null }
}

extension LeaseStatements {
    /// What is answered, of the rows `own` and `changed`: the lease as it is with the change, where there was one.
    ///
    /// Two statements that began together do not see each other's changes, but the second to change a row waits, and
    /// looks at its conditions again.
    private static let answering = """
        SELECT (SELECT drains FROM own),
            changed.epoch IS NOT NULL,
            now.epoch,
            now.node,
            coalesce(now.node = $1 AND now.machine = $2, false),
            (extract(epoch FROM now.until) * 1000000)::bigint,
            (extract(epoch FROM now.until - clock_timestamp()) * 1000000)::bigint,
            now.length_us,
            (SELECT count(*) FROM timerd.nodes AS other
                WHERE other.name < $1 AND NOT other.drains AND other.until > clock_timestamp()
                    AND other.name IS DISTINCT FROM now.node),
            (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
            \(othersMayLead),
            old.clock_difference_us
        FROM timerd.lease AS old
            LEFT JOIN changed ON true
            CROSS JOIN LATERAL (SELECT
                CASE WHEN changed.epoch IS NULL THEN old.epoch ELSE changed.epoch END AS epoch,
                CASE WHEN changed.epoch IS NULL THEN old.node ELSE changed.node END AS node,
                CASE WHEN changed.epoch IS NULL THEN old.machine ELSE changed.machine END
                    AS machine,
                CASE WHEN changed.epoch IS NULL THEN old.until ELSE changed.until END AS until,
                CASE WHEN changed.epoch IS NULL THEN old.length_us ELSE changed.length_us END
                    AS length_us
            ) AS now
        WHERE old.one = 1
        """

    /// Whether a node is there, beside $1, that does not drain.
    static let othersTakeCommands = """
        EXISTS (SELECT FROM timerd.nodes AS other
            WHERE other.name <> $1 AND NOT other.drains AND other.until > clock_timestamp())
        """

    /// Whether the node `other` could lead: it is there, does not drain, and has not just been unable to.
    private static let mayLead = """
        NOT other.drains AND other.until > clock_timestamp()
            AND (other.stands_aside_until IS NULL OR other.stands_aside_until < clock_timestamp())
        """

    /// Whether a node is there, beside $1, for which one that drains need not lead.
    private static let othersMayLead = """
        EXISTS (SELECT FROM timerd.nodes AS other WHERE other.name <> $1 AND \(mayLead))
        """

    /// The server shows the first 63 bytes of a connection's name.
    private static let carrying = """
        SELECT EXISTS (SELECT FROM timerd.nodes AS other
            JOIN pg_stat_activity AS activity
                ON activity.application_name = left('timerd relay ' || other.name, 63)
            WHERE other.name <> $1 AND \(mayLead)
                AND activity.datname = current_database() AND activity.usename = current_user)
        """

    /// Whether the row of the jobs is there: while a restore has not brought it, nobody knows what the tables hold, and no lease is
    /// taken or renewed.
    private static let hasStore = "EXISTS (SELECT FROM timerd.store)"

    /// Told as a length each time, so that a step of the database's clock is mended with the next renewal; NULL for NULL.
    private static func standsAside(_ length: String) -> String {
        "clock_timestamp() + \(length)::bigint * interval '1 microsecond'"
    }

    private static let length = "clock_timestamp() + $4::bigint * interval '1 microsecond'"

    private static let renewing = """
        WITH own AS (
            UPDATE timerd.nodes SET until = \(length), clock_difference_us = $5::bigint,
                store_backend = coalesce($6::bigint, store_backend),
                stands_aside_until = \(standsAside("$9"))
            WHERE name = $1 AND incarnation = $3
            RETURNING drains
        ), changed AS (
            UPDATE timerd.lease SET until = \(length), length_us = $4::bigint,
                clock_difference_us = CASE WHEN $6::bigint IS NULL THEN clock_difference_us
                    ELSE coalesce($5::bigint, clock_difference_us) END
            WHERE one = 1 AND epoch = $7::bigint AND node = $1 AND machine = $2
                AND EXISTS (SELECT FROM own) AND \(hasStore)
            RETURNING *
        ), ended AS (
            SELECT count(pg_terminate_backend(listening.pid)) FROM \(stalled) AS listening
            WHERE $7::bigint IS NOT NULL
        )
        \(answering) AND \(hasStore) AND (SELECT count IS NOT NULL FROM ended)
        """

    /// The connections of nodes that are in force no more, once a part of PostgreSQL's room for notifications is taken.
    ///
    /// A node that is stopped reads nothing, and all that was notified since is kept for it: with no room left nobody could
    /// notify. The server shows the first 63 bytes of a connection's name.
    private static let stalled = """
        (SELECT activity.pid FROM (SELECT pg_notification_queue_usage() AS usage) AS queue
            CROSS JOIN pg_stat_activity AS activity
        WHERE queue.usage * 1000 > $8::bigint
            AND activity.datname = current_database() AND activity.usename = current_user
            AND (activity.application_name LIKE 'timerd relay %'
                OR activity.application_name LIKE 'timerd node %')
            AND NOT EXISTS (SELECT FROM timerd.nodes AS there
                WHERE there.until > clock_timestamp() AND activity.application_name IN
                    (left('timerd relay ' || there.name, 63), left('timerd node ' || there.name, 63)))
            AND activity.pid <> pg_backend_pid())
        """

    /// Whether the lease is as this node has seen it.
    private static func isAsSeen(epoch: String, until: String) -> String {
        "epoch = \(epoch) AND (extract(epoch FROM until) * 1000000)::bigint = \(until)"
    }

    private static let taking = """
        WITH own AS (
            SELECT drains FROM timerd.nodes WHERE name = $1 AND incarnation = $3
        ), changed AS (
            UPDATE timerd.lease SET epoch = epoch + 1, node = $1, machine = $2,
                until = \(length), length_us = $4::bigint
            WHERE one = 1 AND \(isAsSeen(epoch: "$5", until: "$6"))
                AND (node IS NULL OR (node = $1 AND machine = $2)
                    OR until < clock_timestamp() OR $7)
                AND EXISTS (SELECT FROM own WHERE NOT drains OR NOT \(othersMayLead))
                AND \(hasStore)
            RETURNING *
        ), told AS (
            SELECT count(pg_notify('\(NodeTable.channel)', '')) FROM changed
        )
        \(answering) AND \(hasStore) AND (SELECT count IS NOT NULL FROM told)
        """

    private static let releasing = """
        WITH own AS (
            UPDATE timerd.nodes SET stands_aside_until = \(standsAside("$5"))
            WHERE name = $1 AND incarnation = $3
            RETURNING drains
        ), changed AS (
            UPDATE timerd.lease SET node = NULL, machine = NULL, until = clock_timestamp()
            WHERE one = 1 AND epoch = $4 AND node = $1 AND machine = $2
            RETURNING *
        ), told AS (
            SELECT count(pg_notify('\(NodeTable.channel)', '')) FROM changed
        )
        \(answering) AND (SELECT count IS NOT NULL FROM told)
        """

    private static let ending = """
        SELECT count(pg_terminate_backend(holding.pid))
        FROM (
            SELECT node, machine, until FROM timerd.lease
            WHERE one = 1 AND \(isAsSeen(epoch: "$1", until: "$2"))
        ) AS lease
            CROSS JOIN \(LeaseHolders.processes) AS holding
        WHERE lease.until < clock_timestamp() OR $3 OR (lease.node = $4 AND lease.machine = $5)
        """
}

// SPDX-License-Identifier: Apache-2.0

package import Postgres

/// The tables of the nodes and the lease, in the schema `timerd`.
package enum ClusterTables {
    /// Of the tables that this version makes and understands.
    package static let format: Int64 = 1

    /// A number, in SQL, that identifies these tables on this server: it is another one once a dump was put in place, here or
    /// on another server, and once this server was promoted.
    ///
    /// The number of the table's file changes with a TRUNCATE, which must come before a dump of data alone is put in place.
    /// It changes with a VACUUM FULL as well: then numbers are skipped for nothing, which does no harm.
    ///
    /// The timeline is that of the next record, so it changes with the promotion, after which pg_control_checkpoint() still
    /// has the former one. A server in recovery writes no record: there this fails.
    package static let origin = """
        hashtextextended(concat_ws(' ', 'timerd.store'::regclass::oid,
            pg_relation_filenode('timerd.store'),
            (SELECT system_identifier FROM pg_control_system()),
            left(pg_walfile_name(pg_current_wal_lsn()), 8)), 0)
        """

    /// Makes the tables where they are missing, and checks that they are this program's.
    ///
    /// Nodes that start together make them once: the second waits for the first. `hadThem`: whether this process has
    /// found them before. Where they are gone since, somebody may be about to put a backup in their place, and they are
    /// not made.
    package static func prepare(
        _ connection: PostgresConnection,
        hadThem: Bool = false,
        within limit: Duration
    ) throws(ClusterError) {
        guard connection.serverVersion >= 130_000 else {
            let version = connection.serverVersion
            let text = version >= 100_000 ? "\(version / 10_000)" : "\(version / 10_000).x"
            throw refusal(.oldServer, "PostgreSQL is of version \(text), timerd needs 13 or newer")
        }
        do throws(ClusterError) {
            if try check(connection, limit) { return }
        } catch {
            // Only some of the tables are there, as while a dump is put in place statement by statement.
            if hadThem, case .refused(let refusal) = error, refusal.code == .otherProgram {
                throw gone
            }
            throw error
        }
        guard !hadThem else { throw gone }
        do throws(PostgresError) {
            try connection.script(making, within: limit)
        } catch {
            // The server has become read-only since the check, as at a failover.
            guard error.sqlState != "25006" else { throw readOnly("it takes no changes") }
            throw .from(error, doing: "make its tables")
        }
        guard try check(connection, limit) else {
            throw refusal(.otherProgram, "the schema 'timerd' was removed while timerd made it")
        }
    }

    /// Whether the tables are there and are right.
    private static func check(
        _ connection: PostgresConnection,
        _ limit: Duration
    ) throws(ClusterError) -> Bool {
        let found: PostgresRows
        do throws(PostgresError) {
            found = try connection.execute(looking, within: limit)
        } catch {
            throw .from(error, doing: "look at its tables")
        }
        if found.boolean(0, 0) == true {
            throw readOnly("it is a standby that follows another server")
        }
        if found.boolean(0, 1) == true { throw readOnly("it is set to be read-only") }
        let encoding = found.text(0, 6) ?? ""
        // SQL_ASCII keeps the bytes as they are.
        guard ["UTF8", "SQL_ASCII"].contains(encoding) else {
            throw refusal(
                .otherEncoding,
                "the database has the encoding \(encoding), which does not keep all characters: timerd needs UTF8, "
                    + "as by \"CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0\""
            )
        }
        guard found.boolean(0, 2) == true else {
            guard found.boolean(0, 4) == true else {
                throw refusal(
                    .notPermitted,
                    "the database has no schema 'timerd', and its role may not make one: "
                        + "'GRANT CREATE ON DATABASE' to it, or make the schema for it"
                )
            }
            return false
        }
        guard found.boolean(0, 3) == true else {
            // The schema is empty: whoever manages the database has made it for timerd.
            if found.integer(0, 5) == 0 { return false }
            throw otherProgram
        }
        try checkMarker(connection, limit)
        if found.boolean(0, 7) == false { try addColumns(connection, limit) }
        return true
    }

    /// Adds what tables that another build has made lack; nodes of that build leave it alone.
    ///
    /// It waits for nobody's lock for long, as for that of a dump: all renewals would wait behind it. It is tried again.
    private static func addColumns(
        _ connection: PostgresConnection,
        _ limit: Duration
    ) throws(ClusterError) {
        do throws(PostgresError) {
            // The table may be missing, while a dump is put in place.
            try connection.script(
                """
                SELECT set_config('lock_timeout', '100', true);
                ALTER TABLE IF EXISTS timerd.nodes
                    ADD COLUMN IF NOT EXISTS stands_aside_until timestamptz
                """,
                within: limit
            )
        } catch {
            throw .from(error, doing: "change its tables")
        }
    }

    private static func checkMarker(
        _ connection: PostgresConnection,
        _ limit: Duration
    ) throws(ClusterError) {
        let marker: PostgresRows
        do throws(PostgresError) {
            marker = try connection.execute(
                "SELECT program::text, format::bigint FROM timerd.cluster WHERE one = 1",
                within: limit
            )
        } catch {
            // A table of this name with other columns, or that is no table.
            if let state = error.sqlState, state.hasPrefix("42"), state != "42501" {
                throw otherProgram
            }
            throw .from(error, doing: "read its tables")
        }
        guard marker.text(0, 0) == "timerd", let found = marker.integer(0, 1) else {
            throw otherProgram
        }
        guard found <= format else {
            throw refusal(
                .newerFormat,
                "the tables in the database were made by a newer timerd (format \(found)), "
                    + "this one reads up to format \(format)"
            )
        }
    }

    static var gone: ClusterError {
        refusal(
            .tablesGone,
            "the tables in the schema 'timerd' were removed from the database while timerd ran: restore them, "
                + "or restart a node, which makes them anew without jobs"
        )
    }

    /// The row is not made anew while nodes run: the others would not know of one that leads.
    static var leaseGone: ClusterError {
        refusal(
            .tablesGone,
            "the row of the table 'timerd.lease' was removed, so that no node can lead: stop all nodes, then \(makingLease)"
        )
    }

    /// With an epoch above all that were, as each take-over adds one, and below 2^31: it is the upper half of
    /// the ids of parts of uploads.
    package static let makingLease = """
        INSERT INTO timerd.lease VALUES (1, extract(epoch FROM now()), NULL, NULL, \
        to_timestamp(0), 0, NULL)
        """

    /// As the lease's: with a row as of no jobs, the tables that are there would not be read.
    ///
    /// `making`: what puts it back, see `makingStore`.
    static func storeGone(making: String) -> ClusterError {
        refusal(
            .tablesGone,
            "the table 'timerd.store' has no row, so that no node can lead: with one that a restore brings nodes go on by themselves; "
                + "where it was removed, stop all nodes, then, if a timerd of this version led last, \(making)"
        )
    }

    /// What puts the row of the jobs back, for tables of that version of the schema, with that fingerprint.
    ///
    /// The number of the last commit begins anew, as nobody leads who knows another; and numbers are skipped as on a copy, for it is
    /// not known which server had the row.
    package static func makingStore(version: Int, fingerprint: Int64) -> String {
        """
        INSERT INTO timerd.store (one, number, version, fingerprint, table_id) \
        VALUES (1, 0, \(version), \(fingerprint), 0)
        """
    }

    private static var otherProgram: ClusterError {
        refusal(
            .otherProgram,
            "the schema 'timerd' in the database is of another program: timerd needs it, "
                + "or another database"
        )
    }

    private static func readOnly(_ reason: String) -> ClusterError {
        refusal(
            .readOnly,
            "the database may not be written: \(reason); timerd needs one that may, "
                + "with several hosts 'target_session_attrs=read-write' finds it"
        )
    }

    static func refusal(_ code: ClusterRefusal.Code, _ message: String) -> ClusterError {
        .refused(ClusterRefusal(code: code, message: message))
    }

    private static let looking = """
        SELECT pg_is_in_recovery(), current_setting('transaction_read_only')::boolean,
            to_regnamespace('timerd') IS NOT NULL, to_regclass('timerd.cluster') IS NOT NULL,
            has_database_privilege(current_database(), 'CREATE'),
            (SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('timerd')),
            current_setting('server_encoding'),
            EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('timerd.nodes')
                AND attname = 'stands_aside_until' AND NOT attisdropped)
        """

    /// Several statements in one message are one transaction.
    ///
    /// - The lock's number is this program's alone.
    /// - `lease`: the epoch is in a key, so that a take-over waits for commits that hold the row `FOR KEY SHARE`,
    ///   and a renewal does not. `node` is null once it was given back. `clock_difference_us`: by how much the wall clock
    ///   of the node that wrote the jobs last is ahead of the database's; one that leads and has not begun to changes nothing.
    /// - `nodes`: those that were there in the last week; `store_backend`: the server's process of the connection
    ///   that the node commits on; `stands_aside_until`: until then a node that drains leads rather than this one, which could not.
    /// - `store`: the number of the last commit of the jobs, the version of their tables (0: there are none), the
    ///   fingerprint of the SQLite schema that these were made from, whether
    ///   the last commit whose connection was lost had been stored, and the `origin` of the server whose node led last: where
    ///   that is another one, these tables may lack what was answered.
    /// - `cluster`: where it is made anew, relays of nodes that go on know the secret of the former one, and reach nobody
    ///   by it: they connect again, and read this one.
    private static let making = """
        SELECT set_config('lock_timeout', '0', true), pg_advisory_xact_lock(8388365742957359204);
        DO $$ BEGIN
            IF to_regnamespace('timerd') IS NULL THEN CREATE SCHEMA timerd; END IF;
        END $$;
        CREATE TABLE IF NOT EXISTS timerd.cluster (
            one integer PRIMARY KEY CHECK (one = 1),
            program text NOT NULL,
            format integer NOT NULL,
            id text NOT NULL
        );
        CREATE TABLE IF NOT EXISTS timerd.lease (
            one integer PRIMARY KEY CHECK (one = 1),
            epoch bigint NOT NULL,
            node text,
            machine text,
            until timestamptz NOT NULL,
            length_us bigint NOT NULL,
            clock_difference_us bigint,
            UNIQUE (one, epoch)
        );
        CREATE TABLE IF NOT EXISTS timerd.nodes (
            name text PRIMARY KEY,
            machine text NOT NULL,
            incarnation text NOT NULL,
            host text NOT NULL,
            version text NOT NULL,
            labels text[] NOT NULL,
            started_at timestamptz NOT NULL,
            until timestamptz NOT NULL,
            drains boolean NOT NULL DEFAULT false,
            drains_since timestamptz,
            clock_difference_us bigint,
            store_backend integer,
            stands_aside_until timestamptz
        );
        CREATE TABLE IF NOT EXISTS timerd.store (
            one integer PRIMARY KEY CHECK (one = 1),
            number bigint NOT NULL,
            version bigint NOT NULL DEFAULT 0,
            fingerprint bigint NOT NULL DEFAULT 0,
            was_stored boolean NOT NULL DEFAULT false,
            table_id bigint NOT NULL
        );
        WITH made AS (
            INSERT INTO timerd.cluster VALUES (1, 'timerd', \(format), gen_random_uuid()::text)
            ON CONFLICT DO NOTHING RETURNING one
        )
        SELECT pg_terminate_backend(pid) FROM made CROSS JOIN pg_stat_activity
        WHERE datname = current_database() AND usename = current_user
            AND application_name LIKE 'timerd relay %';
        INSERT INTO timerd.lease VALUES (1, 0, NULL, NULL, to_timestamp(0), 0, NULL)
            ON CONFLICT DO NOTHING;
        INSERT INTO timerd.store (one, number, table_id) VALUES (1, 0, \(origin))
            ON CONFLICT DO NOTHING;
        """
}

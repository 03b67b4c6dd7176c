// SPDX-License-Identifier: Apache-2.0

import Logging
import SQLite
import Schedules
import TimerControl

/// Rows of small tables in which a column holds a value of another type, as only damage can put it there.
///
/// SQLite refuses each write of such a row, also one that leaves that column as it is; and all users' tasks, notices and
/// events are read and written together. So a start gives such a column a value of its type: what another row says, or else
/// one by which nothing begins twice and nothing is handed to a stranger. Jobs and tasks, of which there may be millions, have
/// theirs mended as somebody comes upon them: see `JobStore.writing` and `TaskStore.mending`.
struct DamagedRows {
    let database: Database

    init(_ database: Database) { self.database = database }

    /// Mends those of the tables of which each row is looked at by a start, and returns which.
    func mend() throws -> [(table: String, row: String)] {
        let mended = try [
            ("outbox", SQL.outbox), ("owners", SQL.owners), ("queues", SQL.queues),
            ("notices", SQL.notices),
        ].flatMap { table, sql in
            try database.prepare(sql).all { (table, try $0.get(0, as: String.self)) }
        }
        // Triggers have counted them as they were.
        if mended.contains(where: { $0.0 == "notices" }) {
            try database.prepare(SQL.noticeCounts).run()
        }
        return mended
    }

    /// Removes the notices that are nobody's, and returns which: none is ever tried or listed, and each would keep its job.
    ///
    /// Not one whose number could not be mended: behind that there may be none, see `renumber`.
    func giveUpNotices() throws -> [String] {
        try database.prepare(SQL.nobodysNotices).all { try $0.get(0) }
    }

    /// Mends the tasks, and returns which; the counts of queues have to be sound, as each write of a task changes them.
    func mendTasks() throws -> [String] {
        let mended: [String] = try database.prepare(SQL.tasks).all { try $0.get(0) }
        // Triggers cannot tell of a state, a queue or an owner that was no such where it was counted.
        if !mended.isEmpty { try database.prepare(SQL.taskCounts).run() }
        return mended
    }

    /// A column: when its value is sound, and what stands in its place otherwise.
    private struct Column {
        var name: String
        var isSound: String
        /// When it keeps its value where the row is mended, for whichever column.
        var isKept: String
        var other: String

        init(_ name: String, _ isSound: String, kept isKept: String? = nil, else other: String) {
            (self.name, self.isSound, self.other) = (name, isSound, other)
            self.isKept = isKept ?? isSound
        }

        static func number(_ name: String, else other: String = "0") -> Column {
            Column(name, "typeof(\(name)) = 'integer'", else: other)
        }

        static func numberOrNull(_ name: String, else other: String = "NULL") -> Column {
            Column(name, "typeof(\(name)) IN ('integer', 'null')", else: other)
        }

        /// Bytes are taken for the text that they were; a number is none that anybody knows.
        static func text(_ name: String) -> Column {
            Column(name, "typeof(\(name)) = 'text'", else: "coalesce(CAST(\(name) AS TEXT), '')")
        }

        static func textOrNull(_ name: String) -> Column {
            Column(name, "typeof(\(name)) IN ('text', 'null')", else: "CAST(\(name) AS TEXT)")
        }
    }

    enum SQL {
        private static func mend(
            _ table: String,
            _ columns: [Column],
            where isMeant: String = "1",
            named row: String
        ) -> String {
            let values = columns.map { "\($0.name) = iif(\($0.isKept), \($0.name), \($0.other))" }
            let isSound = columns.map { "(\($0.isSound))" }.joined(separator: " AND ")
            return """
                UPDATE \(table) SET \(values.joined(separator: ", "))
                WHERE \(isMeant) AND NOT (\(isSound)) RETURNING CAST(\(row) AS TEXT)
                """
        }

        /// What a write has counted of live jobs and of bytes is a small number.
        static let outbox = mend(
            "outbox",
            ["live", "bytes", "reasons", "scheduled", "paused"].map {
                Column(
                    $0,
                    "typeof(\($0)) = 'integer' AND \($0) BETWEEN -\(1 << 40) AND \(1 << 40)",
                    else: "0"
                )
            } + [.number("told"), .numberOrNull("owner_id"), .text("events")],
            named: "id"
        )
        /// A uid that nobody has: his jobs are held until it is right again.
        ///
        /// So it is with a name that is not there, or that has got another row since, as no write finds the damaged one by it.
        static let owners = mend(
            "owners",
            [
                .number("uid", else: "-id"),
                Column(
                    "name",
                    "typeof(name) = 'text'",
                    else: """
                        iif(typeof(name) = 'null' OR EXISTS (SELECT 1 FROM owners AS o
                                WHERE o.uid = owners.uid AND o.name = CAST(owners.name AS TEXT)),
                            coalesce(CAST(name AS TEXT), '') || '#' || id, CAST(name AS TEXT))
                        """
                ),
                // A start looks whether he is there.
                Column("held", "typeof(held) IN ('text', 'null')", else: "NULL"),
                .number(
                    "live",
                    else: """
                        (SELECT count(*) FROM jobs WHERE jobs.owner_id = owners.id
                            AND (jobs.state = 'scheduled' OR jobs.state = 'paused'))
                            - (SELECT coalesce(sum(live), 0) FROM outbox
                                WHERE outbox.owner_id = owners.id)
                        """
                ),
                .number("bytes"), .number("events_pruned"), .numberOrNull("maintenance_us"),
            ],
            named: "id"
        )
        /// One of which nobody knows whether it was paused is: its user sees that.
        static let queues = mend(
            "queues",
            [
                .number("paused", else: "1"), .numberOrNull("max_reserved"),
                .numberOrNull("rate_count"), .numberOrNull("rate_us"), .number("rate_until_us"),
            ]
                + ["ready", "delayed", "reserved", "dead"].map { state in
                    .number(
                        state,
                        else: """
                            (SELECT count(*) FROM tasks WHERE tasks.owner_id = queues.owner_id
                                AND tasks.queue = queues.name AND tasks.state = '\(state)')
                            """
                    )
                },
            where: "typeof(owner_id) = 'integer' AND typeof(name) = 'text'",
            named: "name"
        )
        /// A task of which nobody knows where it stands is no worker's: its user retries or drops it.
        ///
        /// Nor is one whose fire does not say whose it is. One in a state that this version does not know is left as it is.
        static let tasks = mend(
            "tasks",
            [
                .number("job_id", else: ofFire("job_id")),
                .number("owner_id", else: ofFire("owner_id")),
                .text("queue"), .number("priority"),
                Column("state", "typeof(state) = 'text'", kept: isState, else: "'dead'"),
                .number("ready_us"),
                Column(
                    "due_us",
                    "typeof(due_us) IN ('integer', 'null')",
                    kept: "typeof(due_us) IN ('integer', 'null') AND \(isState)",
                    else: "iif(\(isState) AND state <> 'dead', 0, NULL)"
                ),
                .number("lease_us"),
                .numberOrNull(
                    "run_id",
                    else:
                        "(SELECT max(r.id) FROM runs AS r WHERE r.fire_id = tasks.fire_id AND r.outcome IS NULL)"
                ),
                .number("attempt"), .number("failures"), .number("losses"),
            ],
            named: "fire_id"
        )
        /// How many tasks each queue has in each state: by one look at all of them, however many queues there are.
        ///
        /// No task is of one whose key is damaged, which `queues` leaves, and which SQLite refuses to write.
        static let taskCounts = """
            UPDATE queues
            SET ready = c.ready, delayed = c.delayed, reserved = c.reserved, dead = c.dead
            FROM (SELECT q.owner_id, q.name, coalesce(t.ready, 0) AS ready,
                    coalesce(t.delayed, 0) AS delayed, coalesce(t.reserved, 0) AS reserved,
                    coalesce(t.dead, 0) AS dead
                FROM queues AS q LEFT JOIN (
                    SELECT owner_id, queue, sum(state = 'ready') AS ready,
                        sum(state = 'delayed') AS delayed, sum(state = 'reserved') AS reserved,
                        sum(state = 'dead') AS dead
                    FROM tasks GROUP BY owner_id, queue) AS t
                ON t.owner_id = q.owner_id AND t.queue = q.name
                WHERE typeof(q.owner_id) = 'integer' AND typeof(q.name) = 'text') AS c
            WHERE queues.owner_id = c.owner_id AND queues.name = c.name
                AND (queues.ready, queues.delayed, queues.reserved, queues.dead)
                    IS NOT (c.ready, c.delayed, c.reserved, c.dead)
            """
        private static func ofFire(_ column: String) -> String {
            """
            coalesce((SELECT f.\(column) FROM fires AS f
                WHERE f.id = fire_id AND typeof(f.\(column)) = 'integer'), -1)
            """
        }
        private static let isState =
            "coalesce(state IN ('ready', 'delayed', 'reserved', 'dead'), 0)"
        /// Of a place, a reason or words that are none the notice tells nothing, and is given up.
        ///
        /// One of which nobody knows until when it may be tried has a day. One of which nobody knows whose it is is nobody's, and
        /// is given up: a try is carried out as its owner.
        static let notices = mend(
            "notices",
            [
                .number(
                    "owner_id",
                    else: """
                        coalesce((SELECT j.owner_id FROM jobs AS j
                            WHERE j.id = notices.job_id AND typeof(j.owner_id) = 'integer'), -1)
                        """
                ),
                .number("job_id"), .text("reason"), .text("place"), .number("added_at_us"),
                .number("not_before_us"),
                .number(
                    "until_us",
                    else: """
                        (SELECT elapsed_us FROM daemon_state) + \(TimeSpan.seconds(86_400).microseconds)
                        """
                ),
                .number("attempts"), .textOrNull("error"), .number("held"),
                .numberOrNull("held_from_us"), .numberOrNull("held_to_us"), .number("dropped"),
                .text("document"),
            ],
            named: "id"
        )
        static let noticeCounts = """
            UPDATE daemon_state SET
                notices_waiting = (SELECT count(*) FROM notices WHERE held = 0 OR attempts > 0),
                notices_held = (SELECT count(*) FROM notices WHERE held > 0 AND attempts = 0)
            """
        static let nobodysNotices = """
            DELETE FROM notices WHERE owner_id = \(OwnerID.nobody.rawValue) AND id < \(1 << 62)
            RETURNING CAST(id AS TEXT)
            """
    }
}

extension TaskStore {
    /// Carries out `body`; where the row of a task keeps it from that, mends the tasks first.
    ///
    /// That looks at all of them: where it finds nothing to mend, the daemon does not look again, unless this write has mended
    /// some before, which goes if it is undone.
    func mending<T>(_ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as DatabaseError
            where (error.isOfWrongType || error.isUnreadableValue) && !database.notes.areTasksSound
        {
            let mended = try DamagedRows(database).mendTasks()
            database.notes.mendedTasks += mended
            guard !mended.isEmpty else {
                database.notes.areTasksSound = database.notes.mendedTasks.isEmpty
                throw error
            }
            return try body()
        }
    }
}

extension Store {
    /// Mends damaged rows, each of which is told in the log.
    func mendRows(log: Logger) async throws {
        let (mended, givenUp) = try await writer.write { database in
            let rows = DamagedRows(database)
            // Before, as a notice has its owner by its job's number; and after, as SQLite refuses a row that is not mended yet.
            let mended = try rows.renumber() + rows.mend() + rows.renumber() + rows.findJobs()
            return (mended, try rows.giveUpNotices())
        }
        for (table, row) in mended { log.noteMended(row, of: table) }
        for notice in givenUp {
            log.error(
                "a notice is given up: its row is damaged, and nobody knows whose it is",
                metadata: ["notice": "\(notice)"]
            )
        }
    }
}

extension Logger {
    func noteMended(_ row: String, of table: String) {
        error(
            "a row of the database is damaged; what could not be read of it was put anew",
            metadata: ["table": "\(table)", "row": "\(row)"]
        )
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerD

/// What is looked for is found without a look at what is past.
@Suite("Query plans", .timeLimit(.minutes(1))) struct QueryPlanTests {
    @Test("The jobs that have no next fire are read by an index, past all that have ended")
    func idle() async throws {
        try await TestScheduler.with { test in
            let plan = try await test.store.reader.read { database in
                try database
                    .prepare(
                        "EXPLAIN QUERY PLAN "
                            + Queries.SQL.jobs(.idle, hasUserInfo: true).replacing(
                                /\?\d+/,
                                with: "1"
                            )
                    )
                    .all { try $0.get(3, as: String.self) }
            }
            #expect(plan.first == "SEARCH jobs USING INDEX jobs_idle (id>? AND id<?)")
            #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
        }
    }

    @Test("The row of a date is found by its date, and ranges past all fires in between")
    func taken() async throws {
        try await TestScheduler.with { test in
            let plan = try await test.store.reader.read { database in
                try database.prepare("EXPLAIN QUERY PLAN " + FireStore.SQL.takenAround)
                    .all(1, 1) { try $0.get(3, as: String.self) }
            }
            let searches = plan.filter { $0.hasPrefix("SEARCH") || $0.hasPrefix("SCAN fires") }
            #expect(
                searches == [
                    "SEARCH fires USING INDEX sqlite_autoindex_fires_1 (job_id=? AND fire_date_us=?)",
                    "SEARCH fires USING INDEX fires_ranges (job_id=? AND fire_date_us<?)",
                ]
            )
        }
    }

    @Test("What is claimed behind a date is found by the job's dates, past those before it")
    func ahead() async throws {
        try await TestScheduler.with { test in
            for (sql, search) in [
                (FireStore.SQL.claimsAfter, "(job_id=? AND fire_date_us>?)"),
                (FireStore.SQL.claimAt, "(job_id=? AND fire_date_us=?)"),
            ] {
                let plan = try await test.store.reader.read { database in
                    try database
                        .prepare("EXPLAIN QUERY PLAN " + sql.replacing(/\?\d+/, with: "1"))
                        .all { try $0.get(3, as: String.self) }
                }
                #expect(plan == ["SEARCH fires USING INDEX sqlite_autoindex_fires_1 \(search)"])
            }
        }
    }

    @Test("What a crash left half done is found by its index, past all that is over")
    func open() async throws {
        try await TestScheduler.with { test in
            let statements = [
                FireStore.SQL.open, FireStore.SQL.dropped, JobStore.SQL.releaseClaims,
                FireStore.SQL.deleteClaims,
                Queries.SQL.runs(.open, .before),
            ]
            for sql in statements {
                let plan = try await test.store.reader.read { database in
                    try database
                        .prepare("EXPLAIN QUERY PLAN " + sql.replacing(/\?\d+/, with: "1"))
                        .all { try $0.get(3, as: String.self) }
                }
                #expect(plan.contains { $0.contains("fires USING INDEX fires_open") }, "\(plan)")
            }
        }
    }

    @Test("What lies after a date is found by it: single dates, and ranges that begin before it")
    func afterDate() async throws {
        try await TestScheduler.with { test in
            let plan = try await test.store.reader.read { database in
                let sql = FireStore.SQL.jobsAhead.replacing(/\?\d+/, with: "1")
                return try database.prepare("EXPLAIN QUERY PLAN " + sql)
                    .all { try $0.get(3, as: String.self) }
            }
            let fires = plan.filter { $0.contains(" fires") }
            #expect(fires == ["SEARCH fires USING INDEX fires_by_date (<expr>>?)"])
        }
    }

    @Test(
        "Names and userInfo of the past are found by their owner, past those that events still tell"
    )
    func words() async throws {
        try await TestScheduler.with { test in
            for (sql, search) in [
                (EventWords.SQL.oldest, "(owner_id=?)"),
                (EventWords.SQL.removeOldest, "(owner_id=? AND through_seq<?)"),
                (EventWords.SQL.removeUntold, "(owner_id=? AND through_seq<?)"),
            ] {
                let plan = try await test.store.reader.read { database in
                    try database
                        .prepare("EXPLAIN QUERY PLAN " + sql.replacing(/\?\d+/, with: "1"))
                        .all { try $0.get(3, as: String.self) }
                }
                #expect(
                    plan.contains("SEARCH w USING INDEX event_words_by_owner \(search)"),
                    "\(plan)"
                )
                #expect(!plan.contains { $0.hasPrefix("SCAN e") || $0.contains("TEMP") }, "\(plan)")
            }
        }
    }

    @Test("Held jobs, and what is one owner's, are found past all that is not, in order")
    func heldAndOwned() async throws {
        try await TestScheduler.with { test in
            func list(_ walk: JobWalk) -> String { Queries.SQL.jobs(walk, hasUserInfo: true) }
            let plans = [
                (JobStore.SQL.held, "SEARCH jobs USING INDEX jobs_held (id>?)"),
                (list(.held), "SEARCH jobs USING INDEX jobs_held (id>? AND id<?)"),
                (
                    list(.idleOfOwner),
                    "SEARCH jobs USING INDEX jobs_idle_by_owner (owner_id=? AND id>? AND id<?)"
                ),
                (
                    list(.ofOwner),
                    "SEARCH jobs USING INDEX jobs_by_owner (owner_id=? AND id>? AND id<?)"
                ),
                (
                    JobStore.SQL.unheldOfOwner,
                    "SEARCH jobs USING INDEX jobs_by_owner (owner_id=? AND id>?)"
                ),
                (
                    JobStore.SQL.liveIDsOfOwner,
                    "SEARCH jobs USING INDEX jobs_by_owner (owner_id=?)"
                ),
                (
                    JobStore.SQL.byIDAndOwner,
                    "SEARCH jobs USING INDEX jobs_by_owner (owner_id=? AND id=? AND rowid=?)"
                ),
                (
                    list(.taggedOfOwner),
                    "SEARCH job_tags USING PRIMARY KEY (owner_id=? AND tag=? AND job_id>? AND job_id<?)"
                ),
                (
                    JobStore.SQL.liveIDsByTag,
                    "SEARCH job_tags USING PRIMARY KEY (owner_id=? AND tag=?)"
                ),
                (
                    Queries.SQL.dueJobs(.tagged, hasOwner: true),
                    "SEARCH job_tags USING PRIMARY KEY (owner_id=? AND tag=?)"
                ),
                (Queries.SQL.runOfOwner, "SEARCH runs USING INTEGER PRIMARY KEY (rowid=?)"),
                (
                    Owners.SQL.id,
                    "SEARCH owners USING INDEX sqlite_autoindex_owners_1 (uid=? AND name=?)"
                ),
                (
                    JobStore.SQL.due,
                    "SEARCH jobs USING INDEX jobs_waiting (clock=? AND due_us<?)"
                ),
                (
                    JobStore.SQL.nextDue,
                    "SEARCH jobs USING COVERING INDEX jobs_waiting (clock=? AND due_us<?)"
                ),
                (
                    JobStore.SQL.dueOfOwner,
                    "SEARCH jobs USING INDEX jobs_waiting_by_owner (owner_id=? AND clock=? AND due_us<?)"
                ),
                (
                    JobStore.SQL.nextDueOfOwner,
                    "SEARCH jobs USING INDEX jobs_waiting_by_owner (owner_id=? AND clock=? AND due_us<?)"
                ),
                (
                    JobStore.SQL.waitingOwner,
                    "SEARCH jobs USING INDEX jobs_waiting_by_owner (owner_id>?)"
                ),
                (
                    Queries.SQL.waiting(.onDate, hasOwner: false, isFiltered: false),
                    "SEARCH jobs USING INDEX jobs_waiting (clock=? AND due_us=? AND rowid>?)"
                ),
                (
                    Queries.SQL.waiting(.behind, hasOwner: false, isFiltered: true),
                    "SEARCH jobs USING INDEX jobs_waiting (clock=? AND due_us>?)"
                ),
                (
                    Queries.SQL.waiting(.onDate, hasOwner: true, isFiltered: true),
                    "SEARCH jobs USING INDEX jobs_waiting_by_owner (owner_id=? AND clock=? AND due_us=? AND rowid>?)"
                ),
                (
                    Queries.SQL.waiting(.behind, hasOwner: true, isFiltered: false),
                    "SEARCH jobs USING INDEX jobs_waiting_by_owner (owner_id=? AND clock=? AND due_us>?)"
                ),
                (
                    Queries.SQL.claimed(hasIndexOfOwner: true),
                    "SEARCH fires USING INDEX fires_open_by_owner (owner_id=?)"
                ),
                (TaskStore.SQL.nextDue, "SEARCH tasks USING INDEX tasks_due (due_us>?)"),
                (
                    TaskStore.SQL.busyQueue,
                    "SEARCH tasks USING INDEX tasks_live_by_job (job_id=?)"
                ),
                (
                    TaskStore.SQL.liveOfJob,
                    "SEARCH tasks USING INDEX tasks_live_by_job (job_id=?)"
                ),
                (
                    RunStore.SQL.oldestThrough,
                    "SEARCH runs USING INDEX runs_by_job (job_id=? AND id>? AND id<?)"
                ),
                (
                    TaskStore.SQL.dueOfOwner,
                    "SEARCH tasks USING INDEX tasks_due_by_owner (owner_id=? AND due_us<?)"
                ),
                (
                    TaskStore.SQL.timedOwner,
                    "SEARCH tasks USING INDEX tasks_due_by_owner (owner_id>?)"
                ),
                (
                    EventLog.SQL.oldestTexts,
                    "SEARCH events USING INDEX events_with_text (owner_id=?)"
                ),
                (
                    EventLog.SQL.forgetTexts,
                    "SEARCH events USING INDEX events_with_text (owner_id=? AND seq<?)"
                ),
            ]
            for (sql, first) in plans {
                let plan = try await test.store.reader.read { database in
                    let words = "EXPLAIN QUERY PLAN " + sql.replacing(/\?\d+/, with: "1")
                    return try database.prepare(words).all { try $0.get(3, as: String.self) }
                }
                let found = plan.first?.replacing("COVERING ", with: "")
                #expect(found == first.replacing("COVERING ", with: ""), "\(sql)")
                #expect(!plan.contains { $0.hasPrefix("SCAN") }, "\(plan)")
                // A list by due dates is sorted, whatever it is of.
                let isSorted = plan.contains { $0.contains("TEMP B-TREE") }
                #expect(!isSorted || sql.contains("ORDER BY 1, 2"), "\(plan)")
            }
        }
    }

    @Test("What a fire writes builds no table on the way, which SQLite does for a list of words")
    func writesOfFire() async throws {
        try await TestScheduler.with { test in
            let statements = [
                FireStore.SQL.insertClaim, FireStore.SQL.markFired, JobStore.SQL.update,
                FireStore.SQL.takenAround, FireStore.SQL.oldestOfJob, FireStore.SQL.setRange,
                FireStore.SQL.markRunning, RunStore.SQL.insert, RunStore.SQL.markStarted,
                RunStore.SQL.markFinished, FireStore.SQL.markDone, RunStore.SQL.insertOutput,
                EventLog.SQL.insert, EventWords.SQL.job, Outbox.SQL.insert, Outbox.SQL.delete,
            ]
            for sql in statements {
                let codes = try await test.store.reader.read { database in
                    try database.prepare("EXPLAIN " + sql.replacing(/\?\d+/, with: "1"))
                        .all { try $0.get(1, as: String.self) }
                }
                #expect(codes.contains("Halt"), "\(sql)")
                #expect(!codes.contains("OpenEphemeral"), "\(sql)")
            }
        }
    }
}

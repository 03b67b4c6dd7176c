// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import SQLite
import Schedules
import TimerControl

/// Tries changes on a copy of the jobs they touch, so that nobody waits but the client that asked.
///
/// One at a time, in the order in which they were asked for, on a thread of its own; the log cannot be
/// shortened while the copy is made.
struct DryRuns: Sendable {
    private let path: String
    private let thread = BlockingThreads(named: "timerd-dry-run", limit: 1, givesWay: true)

    init(path: String) { self.path = path }

    /// What `trial` would come to if it were carried out now.
    ///
    /// - Throws: what the write would throw.
    func run(_ trial: DryRun) async throws -> AppliedChanges {
        try await thread.run { [path] in Result { try trial.run(path) } }.get()
    }
}

/// Changes that are tried, not made.
struct DryRun: Sendable {
    var changes: JobChanges
    var limit: Int?
    var caller: Caller
    /// Fires whose run is stored as running and has not been started.
    var unstarted: Set<FireID>
    var moment: ClockReading
    /// The end of the window, in elapsed time.
    var horizon: Timestamp

    /// Carries them out on a copy in memory of what they touch in the database at `path`.
    func run(_ path: String) throws -> AppliedChanges {
        let database = try Database(inMemoryBeside: path)
        defer { database.close() }
        try Migrator(.released).migrate(database)
        let left = try copy(into: database)
        try database.leaveDisk()
        try database.begin()
        // No bound on bytes: the ended jobs that would make room are not copied.
        var transaction = JobTransaction(database, at: moment, horizon: horizon)
        transaction.terms.unstarted = unstarted
        var applied = try transaction.apply(changes, limit: limit, caller: caller)
        for job in applied.changed { applied.note(left[job.id] ?? [], of: job) }
        return applied
    }

    /// - Returns: the tasks of jobs that are to be of no queue any more, which are counted alone.
    func copy(into database: Database) throws -> [JobID: [(queue: String, count: Int)]] {
        // One state of the file, from the first row to the last.
        try database.execute("BEGIN")
        try database.execute("CREATE TEMP TABLE touched (id INTEGER PRIMARY KEY)")
        let touch = try database.prepare("INSERT OR IGNORE INTO touched VALUES (?1)")
        if case .ids(let ids) = changes.touched { for id in ids { try touch.run(id) } }
        try database.execute("CREATE TEMP TABLE named (name TEXT PRIMARY KEY)")
        let name = try database.prepare("INSERT OR IGNORE INTO named VALUES (?1)")
        try database.execute("CREATE TEMP TABLE keyed (key TEXT PRIMARY KEY)")
        let key = try database.prepare("INSERT OR IGNORE INTO keyed VALUES (?1)")
        for new in changes.add + changes.change.map(\.to) {
            if let word = new.definition.name { try name.run(word) }
            if let word = new.definition.key { try key.run(word) }
        }
        for name in changes.replaced {
            let holder = try database.prepare(Self.holder)
                .value(caller.owner.uid, caller.owner.name, name, as: JobID.self)
            if let holder { try touch.run(holder) }
        }
        let newer = try newerTagged(in: database)
        if let newer { try touch.run(newer) }
        try database.execute(Self.copy)
        // What refuses the changes is looked for by its tag.
        if let newer { try database.prepare(Self.tag).run(newer, changes.ifNoNewer?.tag) }
        let tasks = TaskStore(database)
        var left: [JobID: [(queue: String, count: Int)]] = [:]
        for change in changes.change where change.to.policy.queue == nil {
            left[change.id] = try tasks.left(of: change.id, TaskStore.SQL.left(in: "disk"))
        }
        try database.execute("COMMIT")
        return left
    }

    /// The job on disk that `ifNoNewer` refuses the changes for; nil for none.
    private func newerTagged(in database: Database) throws -> JobID? {
        guard let newest = changes.ifNoNewer else { return nil }
        let owner = try database.prepare(Self.owner)
            .value(caller.owner.uid, caller.owner.name, as: OwnerID.self)
        guard let owner else { return nil }
        return try database.prepare(JobStore.SQL.newerTagged(in: "disk"))
            .value(newest.tag, owner, newest.id ?? JobID(rawValue: 0), as: JobID.self)
    }

    private static let owner = "SELECT id FROM disk.owners WHERE uid = ?1 AND name = ?2"
    private static let holder = """
        SELECT job_id FROM disk.job_names
        WHERE owner_id = (SELECT id FROM disk.owners WHERE uid = ?1 AND name = ?2) AND name = ?3
        """
    private static let tag = """
        INSERT OR IGNORE INTO job_tags (owner_id, tag, job_id)
        SELECT owner_id, ?2, id FROM jobs WHERE id = ?1
        """

    /// Of the touched jobs' history, what settling their dates asks for: the fires from the next date on, where there is
    /// one, the four newest, the newest eight ranges, which may hold that date, and what is not over.
    private static let copy = """
        DELETE FROM daemon_state;
        INSERT INTO daemon_state SELECT * FROM disk.daemon_state;
        -- New rows get the numbers that they would get on disk.
        UPDATE daemon_state SET
            jobs_through = max(jobs_through, \(DaemonState.SQL.last("disk.jobs"))),
            fires_through = max(fires_through, \(DaemonState.SQL.last("disk.fires")));
        INSERT INTO jobs SELECT j.* FROM touched CROSS JOIN disk.jobs AS j USING (id);
        INSERT INTO job_definitions
            SELECT d.* FROM touched CROSS JOIN disk.job_definitions AS d ON d.job_id = touched.id;
        INSERT INTO job_names
            SELECT n.* FROM disk.owners AS o CROSS JOIN named
            CROSS JOIN disk.job_names AS n ON n.owner_id = o.id AND n.name = named.name;
        INSERT INTO fires SELECT f.* FROM jobs AS j CROSS JOIN disk.fires AS f ON f.job_id = j.id
            AND f.fire_date_us >= min(coalesce(j.fire_date_us, j.due_us, \(Int64.max)),
                coalesce(j.moved_from_us, j.fire_date_us, \(Int64.max)));
        INSERT OR IGNORE INTO fires SELECT f.* FROM jobs AS j JOIN disk.fires AS f ON f.id IN (
            SELECT id FROM disk.fires WHERE job_id = j.id ORDER BY fire_date_us DESC LIMIT 4);
        INSERT OR IGNORE INTO fires SELECT f.* FROM jobs AS j JOIN disk.fires AS f ON f.id IN (
            SELECT id FROM disk.fires WHERE job_id = j.id AND last_date_us IS NOT NULL
            ORDER BY fire_date_us DESC LIMIT 8);
        INSERT OR IGNORE INTO fires
            SELECT fires.* FROM touched CROSS JOIN disk.fires AS fires ON fires.job_id = touched.id
            WHERE \(RunRow.isUnfinished);
        -- Jobs that have a key; of their history what is not over.
        INSERT INTO job_keys
            SELECT k.* FROM disk.owners AS o CROSS JOIN keyed
            CROSS JOIN disk.job_keys AS k ON k.owner_id = o.id AND k.key = keyed.key;
        INSERT OR IGNORE INTO jobs
            SELECT j.* FROM job_keys AS k CROSS JOIN disk.jobs AS j ON j.id = k.job_id;
        INSERT OR IGNORE INTO job_definitions
            SELECT d.* FROM job_keys AS k CROSS JOIN disk.job_definitions AS d ON d.job_id = k.job_id;
        INSERT OR IGNORE INTO fires
            SELECT fires.* FROM job_keys AS k CROSS JOIN disk.fires AS fires
            ON fires.job_id = k.job_id WHERE \(RunRow.isUnfinished);
        DELETE FROM owners;
        INSERT INTO owners SELECT * FROM disk.owners;
        -- What it counts, which is in owners only later.
        INSERT INTO outbox (owner_id, live, bytes, reasons, scheduled, paused, events)
            SELECT owner_id, live, bytes, reasons, scheduled, paused, '[]' FROM disk.outbox;
        """
}

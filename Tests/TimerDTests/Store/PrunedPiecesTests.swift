// SPDX-License-Identifier: Apache-2.0

import Glibc
import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// What one write removes, and what it leaves to the next.
@Suite("Pruning, piece by piece", .timeLimit(.minutes(1))) struct PrunedPiecesTests {
    static let owner = Owner(uid: 1001)
    static let now = Timestamp(microseconds: 1_800_000_000_000_000)
    static let moment = ClockReading(elapsed: now, wallOffset: .zero)

    let folder: TemporaryFolder
    let path: String
    let database: Database

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("timerd.db")
        database = try Database(path: path, mode: .readWriteCreate)
        try Migrator(.released).migrate(database)
    }

    // MARK: - What is there

    @discardableResult
    func add(
        _ words: ScheduleWords = ScheduleWords(in: "30d"),
        bytes: Int = 10,
        count: Int = 1,
        most: Int64? = nil
    ) throws -> StoredJob {
        var definition = JobDefinition(schedule: words)
        // Not in what events tell of it, which outlasts the job.
        definition.command = [String(repeating: "x", count: bytes)]
        let new = try NewJob(definition, owner: Self.owner, at: Self.moment, zone: .utc)
        try database.begin()
        do {
            var transaction = JobTransaction(database, at: Self.moment, horizon: Self.now)
            transaction.terms.maxBytes = most
            let added = try transaction.add(
                Array(repeating: new, count: count),
                replace: false,
                limit: nil
            )
            _ = try transaction.finish()
            try database.commit()
            return try #require(added.first)
        } catch {
            database.rollback()
            throw error
        }
    }

    /// Makes it a job that has ended so many µs after 1970.
    func end(_ job: StoredJob, at date: Int) throws {
        try database.execute(
            """
            UPDATE jobs SET state = 'invalidated', fire_date_us = NULL, due_us = NULL,
                ended_at_us = \(date) WHERE id = \(job.id.rawValue)
            """
        )
    }

    /// Adds jobs of the same owner that have ended a µs after 1970, and each a µs later, and whose tasks are not over.
    func addOpen(_ count: Int, like job: StoredJob) throws {
        try database.begin()
        try database.execute(
            "CREATE TEMP TABLE one AS SELECT * FROM jobs WHERE id = \(job.id.rawValue)"
        )
        for number in 1...count {
            try database.execute(
                """
                UPDATE one SET id = \(10_000 + number), state = 'finished', ended_at_us = \(number);
                INSERT INTO jobs SELECT * FROM one;
                INSERT INTO fires (job_id, owner_id, fire_date_us, wall_date_us, state)
                    SELECT id, owner_id, 1, 1, 'queued' FROM one;
                """
            )
        }
        try database.commit()
    }

    func bytes() throws -> Int64 {
        let transaction = JobTransaction(database, at: Self.moment, horizon: Self.now)
        return try transaction.bytes(of: Owners(database).id(of: Self.owner))
    }

    func count(_ rows: String) throws -> Int {
        try database.prepare("SELECT count(*) FROM \(rows)").value() ?? 0
    }

    func isKept(_ job: StoredJob) throws -> Bool {
        try count("jobs WHERE id = \(job.id.rawValue)") == 1
    }

    /// Removes one piece; returns whether there is more to do.
    func prune(_ limits: RetentionLimits, _ progress: inout PruneProgress) throws -> Bool {
        try database.begin()
        var pruner = Pruner(database, at: Self.moment, limits, from: progress)
        let step = try pruner.prune()
        try database.commit()
        progress = pruner.progress
        return step == .more
    }

    // MARK: - Ended jobs

    @Test("A request looks at 2,000 ended jobs for room, and the next one at those behind them")
    func looks() throws {
        let (old, oldest) = (try add(bytes: 10_000), try add(bytes: 10_000))
        try addOpen(2100, like: old)
        try end(old, at: 5000)
        let most = try bytes()
        let refusal = #expect(throws: ControlError.self) { try add(bytes: 100, most: most) }
        #expect(refusal?.message.contains("2000 were looked at whose tasks are not over") == true)
        #expect(try isKept(old))
        try add(bytes: 100, most: most)
        #expect(try !isKept(old))
        // It has ended before all of them, and is found once the others were looked at.
        try end(oldest, at: 0)
        try add(bytes: 100, most: bytes())
        #expect(try !isKept(oldest))
    }

    @Test("However many jobs are over, a request that needs their room has it")
    func manyOver() throws {
        let jobs = try (0..<2100).map { _ in try add() }
        for (date, job) in jobs.enumerated() { try end(job, at: date + 1) }
        let all = try bytes()
        try add(bytes: 100_000, count: Int(all) / 101_100, most: all)
        #expect(try jobs.count { try isKept($0) } < 100)
    }

    @Test("Who has few ended jobs has the one removed that has ended first")
    func oldestFirst() throws {
        let jobs = try (0..<4).map { _ in try add(bytes: 3000) }
        try addOpen(10, like: jobs[0])
        for (job, date) in zip(jobs, [40, 20, 5, 30]) { try end(job, at: date) }
        for kept in [[true, true, false, true], [true, false, false, true]] {
            try add(bytes: 2500, most: bytes())
            #expect(try jobs.map { try isKept($0) } == kept)
        }
        let refusal = #expect(throws: ControlError.self) {
            try add(bytes: 30_000, most: bytes())
        }
        #expect(refusal?.message.contains("none are left") == true)
    }

    @Test("Ended jobs whose tasks are not over are passed by a hundred a piece, and looked at once")
    func openJobs() throws {
        let old = try add()
        try addOpen(250, like: old)
        try end(old, at: 5000)
        for limits in [RetentionLimits(), RetentionLimits(maxBytesPerUser: 0)] {
            var progress = PruneProgress()
            var places = [0]
            while try prune(limits, &progress) {
                let owner = try Owners(database).id(of: Self.owner)
                let cursor = progress.endedOfFull[owner] ?? progress.ended
                places.append(max(Int(cursor.job.rawValue) - 10_000, 0))
            }
            #expect(places.max() == 250)
            #expect(zip(places, places.dropFirst()).allSatisfy { $1 - $0 <= 100 }, "\(places)")
            #expect(progress.ended == .first)
        }
        #expect(try !isKept(old))
        #expect(try count("jobs") == 250)
    }

    @Test("All ended jobs of a full user are looked at once in ten seconds, and then once more")
    func restOfFull() throws {
        try addOpen(250, like: add())
        let owner = try Owners(database).id(of: Self.owner)
        var retention = Retention(
            RetentionLimits(maxBytesPerUser: 0),
            now: Self.now,
            nextEvent: 1
        )
        func look(at date: Timestamp) throws -> EndedCursor? {
            retention.isOverfull(now: date)
            #expect(retention.isDue(now: date))
            retention.begin(now: date)
            let start = retention.progress.endedOfFull[owner]
            var progress = retention.progress
            while try prune(retention.limits, &progress) {}
            retention.progress = progress
            retention.ended(next: .distantFuture, now: date)
            #expect(progress.endedOfFull[owner]?.job.rawValue == 10_250)
            return start
        }
        #expect(try look(at: Self.now) == nil)
        #expect(retention.date == .distantFuture)
        #expect(try look(at: Self.now + .seconds(1))?.job.rawValue == 10_250)
        #expect(try look(at: Self.now + .seconds(9))?.job.rawValue == 10_250)
        #expect(retention.date == Self.now + .seconds(10))
        #expect(try look(at: Self.now + .seconds(10)) == nil)
        #expect(retention.date == .distantFuture)
    }

    @Test("A user who is said to be full while a look is under way is looked at after it")
    func fullDuringLook() {
        var retention = Retention(
            RetentionLimits(maxBytesPerUser: 0),
            now: Self.now,
            nextEvent: 1
        )
        retention.begin(now: Self.now)
        retention.isOverfull(now: Self.now)
        #expect(!retention.isDue(now: Self.now))
        retention.ended(next: .distantFuture, now: Self.now)
        #expect(retention.isDue(now: Self.now))
        retention.begin(now: Self.now)
        retention.ended(next: .distantFuture, now: Self.now)
        #expect(retention.date == .distantFuture)
    }

    // MARK: - Reasons

    /// Gives a job runs that have failed, with errors of 1,001 bytes that events have as their reasons.
    private func addReasons(_ count: Int, to job: StoredJob) throws {
        try addFire(Int(Self.now.microseconds) - 20, of: job, runs: 1)
        try database.execute(
            """
            WITH n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < \(count))
            INSERT INTO runs (job_id, fire_id, attempt, ended_at_us)
                SELECT job_id, fire_id, n + 1, ended_at_us FROM runs, n
                WHERE job_id = \(job.id.rawValue);
            UPDATE runs SET outcome = 'failed', failed_owner_id = \(job.ownerID.rawValue),
                error = char(0) || hex(zeroblob(500)) WHERE outcome IS NULL;
            INSERT INTO events (seq, type, at_us, job_id, revision, owner_id, reason)
                SELECT attempt, 'run.finished', \(Self.now.microseconds), job_id, 1,
                    failed_owner_id, error
                FROM runs WHERE error IS NOT NULL;
            """
        )
    }

    /// The numbers of the first attempt that has an error, of the first event that has a reason, and how many have.
    private func reasons() throws -> [Int] {
        try [
            "SELECT min(attempt) FROM runs WHERE error IS NOT NULL",
            "SELECT min(seq) FROM events WHERE reason IS NOT NULL",
            "SELECT count(*) FROM runs WHERE error IS NOT NULL",
            "SELECT count(*) FROM events WHERE reason IS NOT NULL",
        ].map { try database.prepare($0).value() ?? 0 }
    }

    @Test(
        "Where little room is left a reason takes the place of the oldest, and costs no ended job and no output"
    )
    func reasonsReplaced() throws {
        let (ended, live) = (try add(), try add())
        let now = Int(Self.now.microseconds)
        try addFire(now - 20, of: ended, runs: 1, parts: 3)
        try end(ended, at: now - 10)
        try addReasons(80, to: live)
        var transaction = JobTransaction(database, at: Self.moment, horizon: Self.now)
        let reason = String(repeating: "y", count: 1001)
        // Nothing has to go where there is room.
        transaction.terms.maxBytes = try 2 * bytes()
        #expect(try transaction.makeRoom(forReason: reason, of: live))
        #expect(try reasons() == [2, 2, 80, 80])
        for left in [79, 78] {
            transaction.terms.maxBytes = try bytes()
            #expect(try transaction.makeRoom(forReason: reason, of: live))
            #expect(try reasons() == [82 - left, 82 - left, left, left])
        }
        // What counts nothing needs no room.
        #expect(try transaction.makeRoom(forReason: "bad", of: live))
        #expect(try reasons() == [4, 4, 78, 78])
        #expect(try isKept(ended))
        #expect(try count("run_output") == 3)
        // Who has none that could go, and no room, has none stored.
        try database.execute("UPDATE runs SET error = NULL; UPDATE events SET reason = NULL")
        transaction.terms.maxBytes = try bytes()
        #expect(try !transaction.makeRoom(forReason: reason, of: live))
    }

    @Test("A request for much room forgets reasons in growing pieces, and at most as many again")
    func manyReasons() throws {
        let live = try add()
        try addReasons(1000, to: live)
        try add(bytes: 100_000, count: 2, most: bytes())
        // More than 100 of each are needed: 1 + 2 + 4 + 8 + 16 + 32 + 64.
        #expect(try reasons() == [129, 129, 873, 873])
    }

    // MARK: - Names and userInfo of before

    @Test("Words that no event tells go in one look, whatever goes before them")
    func untoldWords() throws {
        let job = try add()
        let (id, owner) = (job.id.rawValue, job.ownerID.rawValue)
        let limits = RetentionLimits()
        let aged = (Self.now - limits.eventsMaxAge).microseconds - 1
        for events in [1, 15, 95] {
            try database.execute(
                """
                WITH n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < \(events))
                INSERT INTO events (seq, type, at_us, job_id, revision, owner_id)
                    SELECT \(events * 1000) + n, 'job.changed', \(aged), \(id), 1, \(owner) FROM n;
                WITH n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 40)
                INSERT INTO event_words (job_id, revision, owner_id, through_seq, name)
                    SELECT \(id), 1 + n, \(owner), \(events * 1000), 'a' FROM n;
                """
            )
            #expect(!Pruner.keepsNothing(database))
            var progress = PruneProgress()
            while try prune(limits, &progress) {}
            #expect(try count("event_words") == 0, "\(events) events")
        }
    }

    @Test("A start looks for what it can remove where there are but words that no event tells")
    func wordsAlone() throws {
        #expect(Pruner.keepsNothing(database))
        try database.execute(
            """
            INSERT INTO event_words (job_id, revision, owner_id, through_seq, name)
                VALUES (1, 1, 0, 1, 'a')
            """
        )
        #expect(!Pruner.keepsNothing(database))
    }

    // MARK: - Runs
}

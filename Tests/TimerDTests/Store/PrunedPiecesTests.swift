// SPDX-License-Identifier: Apache-2.0

import Glibc
import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// What one write removes, and what it leaves to the next.
@Suite("Pruning, piece by piece", .timeLimit(.minutes(1))) struct PrunedPiecesTests {
    private static let owner = Owner(uid: 1001)
    private static let now = Timestamp(microseconds: 1_800_000_000_000_000)
    private static let moment = ClockReading(elapsed: now, wallOffset: .zero)

    private let folder: TemporaryFolder
    private let path: String
    private let database: Database

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("timerd.db")
        database = try Database(path: path, mode: .readWriteCreate)
        try Migrator(.released).migrate(database)
    }

    // MARK: - What is there

    @discardableResult
    private func add(
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
            transaction.maxBytes = most
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
    private func end(_ job: StoredJob, at date: Int) throws {
        try database.execute(
            """
            UPDATE jobs SET state = 'invalidated', fire_date_us = NULL, due_us = NULL,
                ended_at_us = \(date) WHERE id = \(job.id.rawValue)
            """
        )
    }

    /// Adds jobs of the same owner that have ended a µs after 1970, and each a µs later, and whose tasks are not over.
    private func addOpen(_ count: Int, like job: StoredJob) throws {
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

    private func bytes() throws -> Int64 {
        let transaction = JobTransaction(database, at: Self.moment, horizon: Self.now)
        return try transaction.bytes(of: Owners(database).id(of: Self.owner))
    }

    private func count(_ rows: String) throws -> Int {
        try database.prepare("SELECT count(*) FROM \(rows)").value() ?? 0
    }

    private func isKept(_ job: StoredJob) throws -> Bool {
        try count("jobs WHERE id = \(job.id.rawValue)") == 1
    }

    /// Removes one piece; returns whether there is more to do.
    private func prune(_ limits: RetentionLimits, _ progress: inout PruneProgress) throws -> Bool {
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
                let place = progress.endedOfFull[owner] ?? progress.ended
                places.append(max(Int(place.job.rawValue) - 10_000, 0))
            }
            #expect(places.max() == 250)
            #expect(zip(places, places.dropFirst()).allSatisfy { $1 - $0 <= 100 }, "\(places)")
            #expect(progress.ended == .start && progress.endedOfFull.isEmpty)
        }
        #expect(try !isKept(old))
        #expect(try count("jobs") == 250)
    }

    // MARK: - Runs

    /// Adds a fire with its runs, of which each has so many parts of output.
    private func addFire(_ date: Int, of job: StoredJob, runs: Int, parts: Int = 0) throws {
        try database.execute(
            """
            INSERT INTO fires (job_id, owner_id, fire_date_us, wall_date_us, state)
                SELECT id, owner_id, \(date), \(date), 'done' FROM jobs
                WHERE id = \(job.id.rawValue);
            """
        )
        let fire = database.lastInsertRowID
        for attempt in 1...runs {
            try database.execute(
                """
                INSERT INTO runs (job_id, fire_id, attempt, outcome, ended_at_us)
                    VALUES (\(job.id.rawValue), \(fire), \(attempt), 'exited', \(date))
                """
            )
            let run = database.lastInsertRowID
            for part in 0..<parts {
                try database.execute(
                    """
                    INSERT INTO run_output (run_id, part, owner_id, stdout_end, stderr_end,
                        stdout_kept, stderr_kept, bytes)
                    SELECT \(run), \(part), owner_id, 1, 0, 1, 0, zeroblob(100) FROM jobs
                        WHERE id = \(job.id.rawValue)
                    """
                )
            }
        }
    }

    @Test("A piece removes ten parts of what a run wrote at most, and the run with the last")
    func output() throws {
        let job = try add()
        try addFire(1, of: job, runs: 2, parts: 25)
        try end(job, at: 2)
        var progress = PruneProgress()
        var counts = [try count("run_output")]
        while try prune(RetentionLimits(), &progress) { counts.append(try count("run_output")) }
        counts.append(try count("run_output"))
        #expect(counts.first == 50 && counts.last == 0)
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 - $1 <= 10 }, "\(counts)")
        #expect(try count("jobs") == 0)
    }

    @Test("Of a date that is forgotten no run is left, however many it had")
    func runsOfRanges() throws {
        let job = try add(ScheduleWords(cron: "* * * * *"))
        let minute = 1_700_000_040_000_000
        for (number, runs) in [13, 150, 2].enumerated() {
            try addFire(minute + number * 60_000_000, of: job, runs: runs)
        }
        var progress = PruneProgress()
        while try prune(RetentionLimits(), &progress) {}
        #expect(try count("fires WHERE state = 'forgotten'") == 1)
        #expect(try count("fires WHERE job_id = \(job.id.rawValue)") == 1)
        #expect(try count("runs") == 0)
    }

    @Test("What is deleted is not written once more")
    func freedPages() throws {
        func logged() throws -> Int {
            var status = stat()
            try #require(stat(path + "-wal", &status) == 0)
            return Int(status.st_size) / (DatabaseFile.pageSize + 24)
        }
        try database.execute(
            """
            INSERT INTO upload_parts (owner_id, name, part, jobs, kept_at_us, bytes, request)
                VALUES (0, 'a', 0, 0, 0, 0, zeroblob(1048576))
            """
        )
        let before = try logged()
        #expect(before > 512)
        try database.execute("DELETE FROM upload_parts")
        #expect(try logged() - before < 50)
    }

    // MARK: - Events

    private func addEvents(_ count: Int, from number: Int, at date: Timestamp) throws {
        for number in number..<(number + count) {
            try database.execute(
                """
                INSERT INTO events (seq, type, at_us, job_id, revision)
                    VALUES (\(number), 'job.added', \(date.microseconds), 1, 1)
                """
            )
        }
    }

    @Test("Events of a clock that was ahead go with the old ones behind them, and not before")
    func eventsAhead() throws {
        let limits = RetentionLimits()
        let (ahead, old) = (Self.now + .seconds(100_000_000), Self.now - .seconds(100 * 86_400))
        let young = Self.now - .seconds(86_400)
        try addEvents(150, from: 1, at: ahead)
        try addEvents(1, from: 500, at: young)
        var progress = PruneProgress()
        while try prune(limits, &progress) {}
        #expect(try count("events") == 151)
        try addEvents(150, from: 200, at: old)
        progress = PruneProgress()
        while try prune(limits, &progress) {}
        let kept = try database.prepare("SELECT seq FROM events").all {
            try $0.get(0, as: Int.self)
        }
        #expect(kept == [500])
    }

    @Test("Of a job with many open fires one trim looks at a part, and the next ones go on behind")
    func manyOpen() throws {
        var job = try add(ScheduleWords(every: "1s"))
        // A thousand that are open, and behind them a hundred that are over, of which twenty are kept.
        try database.execute(
            """
            WITH n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1100)
            INSERT INTO fires (job_id, owner_id, fire_date_us, wall_date_us, state)
                SELECT \(job.id.rawValue), 0, n, n, iif(n > 1000, 'fired', 'queued') FROM n
            """
        )
        let places = TrimPlaces()
        /// Whether the next trim may wait for more rows.
        func trim() throws -> Bool {
            var transaction = JobTransaction(
                database,
                at: Self.moment,
                horizon: Self.now,
                runsKept: HistoryBound(standard: 20)
            )
            transaction.trimPlaces = places
            job.rowsSinceTrim = JobTransaction.trimInterval
            try transaction.trimIfGrown(&job)
            return job.rowsSinceTrim == 0
        }
        for part in 1...3 {
            #expect(try trim())
            #expect(places[job.id].date.microseconds == Int64(part * FireStore.oldestLimit))
        }
        #expect(try count("fires WHERE state = 'fired'") == 100)
        for _ in 1...10 where !places[job.id].isStart { _ = try trim() }
        #expect(places[job.id].isStart)
        #expect(try count("fires WHERE state = 'fired'") == 20)
        #expect(try count("fires WHERE state = 'queued'") == 1000)
        #expect(try trim(), "it begins anew")
        #expect(places[job.id].date.microseconds == Int64(FireStore.oldestLimit))
    }
}

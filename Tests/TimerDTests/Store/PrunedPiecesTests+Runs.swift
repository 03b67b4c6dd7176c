// SPDX-License-Identifier: Apache-2.0

import Glibc
import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// What goes of runs and events, piece by piece.
extension PrunedPiecesTests {
    /// Adds a fire with its runs, of which each has so many parts of output.
    func addFire(_ date: Int, of job: StoredJob, runs: Int, parts: Int = 0) throws {
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
            var transaction = JobTransaction(database, at: Self.moment, horizon: Self.now)
            transaction.terms.runsKept = HistoryBound(standard: 20)
            transaction.terms.trimPlaces = places
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

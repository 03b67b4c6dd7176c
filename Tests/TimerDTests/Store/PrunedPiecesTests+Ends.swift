// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// What goes of a job's runs with each end of another.
extension PrunedPiecesTests {
    /// Gives the job so many fires with a run each that has ended: each tenth is done, the others are dead tasks.
    private func addTasks(_ count: Int, of job: StoredJob) throws {
        try database.execute(
            """
            WITH n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < \(count))
            INSERT INTO fires (id, job_id, owner_id, fire_date_us, wall_date_us, state)
            SELECT n, \(job.id.rawValue), 0, n, n, iif(n % 10 = 0, 'done', 'dead') FROM n;
            INSERT INTO runs (id, job_id, fire_id, attempt, outcome, ended_at_us)
            SELECT id, job_id, id, 1, 'failed', wall_date_us FROM fires;
            """
        )
    }

    @Test(
        "Of a job with many tasks that are not over an end looks at a few runs, and the next ones go on behind them",
        arguments: [false, true]
    )
    func runsOfManyOpen(hasHandlers: Bool) throws {
        let job = try add(ScheduleWords(every: "1s"))
        try addTasks(2000, of: job)
        let runs = RunStore(database)
        var place = RunStore.trimStart
        /// How many operations of SQLite's machine one trim has taken.
        func trim() throws -> Int32 {
            _ = try database.prepare(RunStore.SQL.oldestThrough).takeSteps()
            place = try runs.trim(
                job.id,
                keeping: 100,
                hasHandlers: hasHandlers,
                behind: place
            )
            return try database.prepare(RunStore.SQL.oldestThrough).takeSteps()
        }
        let most = Int32(40 * RunStore.trimLimit)
        let first = try trim()
        #expect(first > 0 && first < most)
        #expect(place.rawValue == Int64(RunStore.trimLimit))
        #expect(try count("runs") == 2000 - RunStore.trimLimit / 10)
        var ends = 1
        while place != RunStore.trimStart, ends < 100 {
            let steps = try trim()
            #expect(steps < most)
            ends += 1
        }
        #expect(ends == 1900 / RunStore.trimLimit + 1)
        // Of the hundred newest none goes, and of the others each that is over.
        #expect(try count("runs") == 2000 - 190)
        #expect(try count("runs WHERE id > 1900") == 100)
        _ = try trim()
        #expect(place.rawValue > Int64(RunStore.trimLimit), "it begins anew, with those that stay")
    }

    @Test("Where all of them are over one end removes what is not kept, however much that is")
    func runsThatAreOver() throws {
        let job = try add(ScheduleWords(every: "1s"))
        try addTasks(2000, of: job)
        try database.execute("UPDATE fires SET state = 'done'")
        let next = try RunStore(database).trim(
            job.id,
            keeping: 100,
            hasHandlers: false,
            behind: RunStore.trimStart
        )
        #expect(next == RunStore.trimStart)
        #expect(try count("runs") == 100)
        #expect(try count("runs WHERE id > 1900") == 100)
    }

    @Test("Where the next end goes on is kept of each job, and of a thousand at most")
    func placesOfRuns() {
        let places = TrimPlaces()
        let (one, run) = (JobID(rawValue: 1), RunID(rawValue: 7))
        places.set(run, of: one)
        #expect(places.run(of: one) == run)
        #expect(places.run(of: JobID(rawValue: 2)) == RunStore.trimStart)
        places.set(RunStore.trimStart, of: one)
        #expect(places.run(of: one) == RunStore.trimStart)
        for number in 1...1001 { places.set(run, of: JobID(rawValue: Int64(number))) }
        #expect(places.run(of: one) == RunStore.trimStart)
        #expect(places.run(of: JobID(rawValue: 1001)) == run)
    }
}

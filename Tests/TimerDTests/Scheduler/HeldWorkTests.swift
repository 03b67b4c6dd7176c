// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

@Suite("Work for one held job", .timeLimit(.minutes(1))) struct HeldWorkTests {
    /// Gives a job so many fires that wait for a place, of dates long ago.
    private static func addWaiting(_ count: Int, of job: JobID, in database: Database) throws {
        try database.execute(
            """
            WITH n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < \(count))
            INSERT INTO fires
                (job_id, owner_id, fire_date_us, wall_date_us, state, waits_for)
            SELECT \(job.rawValue), 0, n, n, 'waiting', 'place' FROM n
            """
        )
    }

    @Test("A held job that goes on, or ends, takes no look at the open fires of other jobs")
    func others() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1d"), command: ["x"])
            let other = try await test.add(ScheduleWords(every: "1d"), command: ["x"])
            let moment = test.clock.now()
            let found = try await test.store.writer.write { database in
                try Self.addWaiting(2000, of: other.id, in: database)
                try Self.addWaiting(1, of: job.id, in: database)
                let statements = AllStatements.byName.filter { $0.key.hasPrefix("FireStore.SQL.") }
                /// How many operations of SQLite's machine these took since it was asked.
                func takeSteps() throws -> Int {
                    try statements.values.reduce(0) {
                        $0 + Int(try database.prepare($1).takeSteps())
                    }
                }
                var transaction = JobTransaction(database, at: moment, horizon: moment.wall)
                var recovered = Recovered()
                _ = try takeSteps()
                try transaction.recover(of: job.id, KnownRuns(epoch: 1), into: &recovered)
                let recovery = try takeSteps()
                if let held = try transaction.job(job.id) {
                    try transaction.closeOpenFires(of: held)
                }
                let end = try takeSteps()
                let isOpen = try FireStore(database).hasOpen(job.id)
                return (waiting: recovered.waiting.count, isOpen: isOpen, recovery, end)
            }
            #expect(found.waiting == 1 && !found.isOpen)
            #expect(found.2 > 0 && found.2 < 1000, "to go on")
            #expect(found.3 > 0 && found.3 < 1000, "to end")
        }
    }
}

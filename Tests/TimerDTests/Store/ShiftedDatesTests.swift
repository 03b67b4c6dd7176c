// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// A job's rows go over to another clock.
@Suite("Dates that go over to another clock") struct ShiftedDatesTests {
    @Test(
        "A row is written once, twice where it could meet another on its way, and not for nothing",
        arguments: [(0, 0), (1, 6), (20, 6), (21, 3), (-21, 3), (-10, 6)]
    )
    func writes(span: Int64, count: Int) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "30d"))
            try await test.store.writer.write { database in
                for date in [100, 110, 120] {
                    try database.execute(
                        """
                        INSERT INTO fires (job_id, owner_id, fire_date_us, wall_date_us, state)
                            VALUES (\(job.id.rawValue), 0, \(date), \(date), 'fired')
                        """
                    )
                }
                try database.execute(
                    """
                    CREATE TEMP TABLE moves (date);
                    CREATE TEMP TRIGGER moved AFTER UPDATE OF fire_date_us ON fires BEGIN
                        INSERT INTO moves VALUES (new.fire_date_us);
                    END;
                    """
                )
                try FireStore(database).shiftDates(of: job.id, by: TimeSpan(microseconds: span))
                let moves: Int? = try database.prepare("SELECT count(*) FROM temp.moves").value()
                try database.execute("DROP TRIGGER temp.moved; DROP TABLE temp.moves")
                let dates = try database.prepare("SELECT fire_date_us FROM fires ORDER BY 1").all {
                    try $0.get(0, as: Int64.self)
                }
                #expect(dates == [100, 110, 120].map { $0 + span })
                #expect(moves == count)
            }
        }
    }
}

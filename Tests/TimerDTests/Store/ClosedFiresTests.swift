// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// Open fires of a job that ends while it cannot be read.
@Suite("Closed fires") struct ClosedFiresTests {
    @Test(
        "They are closed, also with a word that their columns do not allow",
        arguments: [
            ("'claimed', 'manual', NULL", "skipped", "held"),
            ("'claimed', 'manuam', NULL", "skipped", "held"),
            ("'waiting', 'manual', 'place'", "done", "manual"),
            ("'waiting', 'manuam', 'place'", "done", "manuam"),
            ("'waiting', NULL, 'placf'", "done", ""),
            ("'running', 'manuam', NULL", "done", "manuam"),
            ("'dormant', NULL, NULL", "done", ""),
        ]
    )
    func close(words: String, state: String, reason: String) throws {
        let folder = try TemporaryFolder()
        let database = try Database(path: folder.file("timerd.db"), mode: .readWriteCreate)
        defer { database.close() }
        try Migrator(.released).migrate(database)
        try database.execute(
            """
            INSERT INTO jobs (id, owner_id, state, clock) VALUES (1, 0, 'scheduled', 'wall');
            PRAGMA ignore_check_constraints = ON;
            INSERT INTO fires
                (id, job_id, owner_id, fire_date_us, wall_date_us, state, reason, waits_for)
                VALUES (14, 1, 0, 5, 5, \(words));
            PRAGMA ignore_check_constraints = OFF;
            """
        )
        try FireStore(database).close(of: JobID(rawValue: 1))
        let fire = "SELECT state FROM fires WHERE id = 14"
        #expect(try database.prepare(fire).value(as: String.self) == state)
        let why = "SELECT coalesce(reason, '') FROM fires WHERE id = 14"
        #expect(try database.prepare(why).value(as: String.self) == reason)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@testable import SQLite
@testable import TimerD

/// The row of numbers that are given out, and of what is counted, after a bad disk.
@Suite("DaemonState") struct DaemonStateTests {
    @Test(
        "A row that is missing or that nobody can count on from keeps the daemon from starting, for good",
        arguments: [
            "DELETE FROM daemon_state",
            "UPDATE daemon_state SET event_seq_end = 9223372036854775807",
            "UPDATE daemon_state SET scheduled = 9223372036854775807",
            "UPDATE daemon_state SET held = -9223372036854775807",
            "UPDATE daemon_state SET jobs_through = 9223372036854775807",
            "UPDATE daemon_state SET notices_through = 4611686018427387904",
            """
            INSERT INTO events (seq, type, at_us, job_id, revision)
            VALUES (9223372036854775807, 'job.added', 0, 1, 1)
            """,
        ]
    )
    func damaged(sql: String) throws {
        let folder = try TemporaryFolder()
        let database = try Database(path: folder.file("timerd.db"), mode: .readWriteCreate)
        defer { database.close() }
        try Migrator(.released).migrate(database)
        let now = Timestamp(microseconds: 7)
        #expect(try DaemonState.read(database, now: now).eventSequenceEnd == 1)
        try database.execute("PRAGMA foreign_keys = OFF; \(sql)")
        let error = #expect(throws: DatabaseError.self) {
            try DaemonState.read(database, now: now)
        }
        #expect(error?.sentence.contains("'daemon_state'") == true, "\(error?.sentence ?? "")")
        #expect(error.map { DaemonError(starting: $0).status } == .configuration)
    }
}

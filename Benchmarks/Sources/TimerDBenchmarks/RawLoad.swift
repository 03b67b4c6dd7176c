// SPDX-License-Identifier: Apache-2.0

import Schedules

/// What SQLite alone can do of timerd's work, on one connection that stays.
///
/// It stays because timerd's does: the write-ahead log of a new database grows with each commit,
/// which costs the file system a commit of its own, and one that has been checkpointed does not.
actor RawLoad {
    private let database: RawSQLite
    private let insert: RawSQLite.Statement
    private let update: RawSQLite.Statement
    private let insertFire: RawSQLite.Statement
    private var random = SplitMix(seed: 1)
    private var fires: Int64 = 0

    private static let jobs: Int64 = 20_000

    /// Makes a database, and writes until its log has been used once over.
    init(_ path: String) throws {
        database = try RawSQLite(path)
        try database.execute(
            """
            CREATE TABLE jobs (id INTEGER PRIMARY KEY, date INTEGER, text TEXT);
            CREATE TABLE due (id INTEGER PRIMARY KEY, date INTEGER);
            CREATE INDEX due_by_date ON due (date);
            CREATE TABLE fires (id INTEGER PRIMARY KEY, job INTEGER, date INTEGER);
            WITH RECURSIVE n (i) AS
                (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Self.jobs))
            INSERT INTO due SELECT i, i * 1000 FROM n
            """
        )
        insert = try database.prepare("INSERT INTO jobs (date, text) VALUES (?1, ?2)")
        update = try database.prepare("UPDATE due SET date = ?2 WHERE id = ?1")
        insertFire = try database.prepare("INSERT INTO fires (job, date) VALUES (?1, ?2)")
        // SQLite checkpoints at 1,000 pages: these are several thousand.
        try database.execute(
            """
            CREATE TABLE filler (bytes BLOB);
            INSERT INTO filler VALUES (zeroblob(8000000));
            DELETE FROM filler
            """
        )
    }

    /// Rows a second, committed `perCommit` at a time; as long as timerd's `job_definitions`.
    func inserts(perCommit: Int, seconds: Double) throws -> Double {
        let now = Clock.now
        return try rate(perCommit, seconds) {
            let date = random.waitingDate(after: now)
            let text = #"{"schedule":{"at":"\#(date.rfc3339)"}}"#
            try database.run(insert, date.microseconds, text: text)
        }
    }

    /// Fires a second: the indexed date of a job moves on, and a fire is inserted.
    func fires(perCommit: Int, seconds: Double) throws -> Double {
        try rate(perCommit, seconds) {
            let job = fires % Self.jobs + 1
            try database.run(update, job, (fires + Self.jobs) * 1000)
            try database.run(insertFire, job, fires * 1000)
            fires += 1
        }
    }

    private func rate(
        _ perCommit: Int,
        _ seconds: Double,
        _ write: () throws -> Void
    ) throws -> Double {
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        var written = 0
        while ContinuousClock.now < end {
            try database.execute("BEGIN IMMEDIATE")
            for _ in 0..<perCommit { try write() }
            try database.execute("COMMIT")
            written += perCommit
        }
        return Double(written) / (ContinuousClock.now - start).inSeconds
    }
}

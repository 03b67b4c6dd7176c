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
    private let delete: RawSQLite.Statement
    private let path: String
    private var random = SplitMix(seed: 1)
    private var fires: Int64 = 0

    private static let jobs: Int64 = 20_000

    /// Makes a database, and writes until its log has been used once over.
    init(_ path: String) throws {
        self.path = path
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
        delete = try database.prepare("DELETE FROM jobs WHERE id = ?1")
        // SQLite checkpoints at 1,000 pages: these are several thousand.
        try database.execute(
            """
            CREATE TABLE filler (bytes BLOB);
            INSERT INTO filler VALUES (zeroblob(8000000));
            DELETE FROM filler
            """
        )
    }

    struct Result: Sendable {
        /// Rows a second.
        var rate: Double
        /// The processor time of each, in µs.
        var cost: Double
    }

    /// Inserts rows of about the same bytes as timerd's jobs, `perCommit` at a time.
    func inserts(
        perCommit: Int,
        seconds: Double,
        shape: JobShape = .plain
    ) throws -> Result {
        try measure(perCommit, seconds) { try insertJob(shape) }
    }

    /// The bytes of log that an insert takes, where `perCommit` share one.
    func logBytes(perCommit: Int, commits: Int, shape: JobShape) throws -> Double {
        // As often as not the log begins anew in between; not three times in a row.
        for _ in 1...3 {
            guard let before = WriteAheadLog(ofDatabase: path) else { continue }
            for _ in 1...commits {
                try commit { for _ in 0..<perCommit { try insertJob(shape) } }
            }
            if let bytes = WriteAheadLog(ofDatabase: path)?.bytes(since: before) {
                return Double(bytes) / Double(commits * perCommit)
            }
        }
        return .nan
    }

    /// Fires a second: the indexed date of a job moves on, and a fire is inserted.
    func fires(perCommit: Int, seconds: Double) throws -> Result {
        try measure(perCommit, seconds) {
            let job = fires % Self.jobs + 1
            try database.run(update, job, (fires + Self.jobs) * 1000)
            try database.run(insertFire, job, fires * 1000)
            fires += 1
        }
    }

    /// Deletes so many rows by their ids, which it has inserted before.
    func deletes(perCommit: Int, rows: Int) throws -> Result {
        try database.execute("DELETE FROM jobs")
        try commit { for _ in 0..<rows { try insertJob(.plain) } }
        let first = try database.number("SELECT min(id) FROM jobs")
        var done = 0
        return try measure(perCommit, count: rows) {
            try database.run(delete, first + Int64(done))
            done += 1
        }
    }

    private func insertJob(_ shape: JobShape) throws {
        let date = random.waitingDate(after: Clock.now)
        try database.run(insert, date.microseconds, text: shape.text(at: date))
    }

    /// Writes until the time is over, or `count` are written.
    private func measure(
        _ perCommit: Int,
        _ seconds: Double = .infinity,
        count: Int = .max,
        _ write: () throws -> Void
    ) throws -> Result {
        let processorTime = Clock.threadProcessorTime
        let start = ContinuousClock.now
        var written = 0
        var elapsed = 0.0
        while elapsed < seconds, written < count {
            try commit { for _ in 0..<perCommit { try write() } }
            written += perCommit
            elapsed = (ContinuousClock.now - start).inSeconds
        }
        return Result(
            rate: Double(written) / elapsed,
            cost: (Clock.threadProcessorTime - processorTime) * 1e6 / Double(written)
        )
    }

    private func commit(_ body: () throws -> Void) throws {
        try database.execute("BEGIN IMMEDIATE")
        try body()
        try database.execute("COMMIT")
    }
}

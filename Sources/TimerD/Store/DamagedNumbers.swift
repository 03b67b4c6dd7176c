// SPDX-License-Identifier: Apache-2.0

import SQLite
import TimerControl

/// Rows that damage has taken away from those that belong to them: by their own number, or by the number of their job.
extension DamagedRows {
    /// Gives rows with numbers beyond 2^62, up to which nobody counts, the number that they had, where another row says which that
    /// was, else a new one; returns which.
    ///
    /// The removal of such a row would have all that is new numbered behind it, where the next start refuses to count on, and
    /// where there may be no number at all. A start looks at no other row for this.
    func renumber() throws -> [(table: String, row: String)] {
        try Self.numbered.flatMap { table in
            var mended: [(table: String, row: String)] = []
            var last = SQL.bound - 1
            while let old = try database.prepare(table.damaged).value(last, as: Int64.self) {
                // One that stays as it is hides none behind it.
                last = old
                // What belongs to it follows in this transaction.
                if mended.isEmpty { try database.execute("PRAGMA defer_foreign_keys = ON") }
                guard let new = try newNumber(of: old, table) else { continue }
                for follow in table.followers { try database.prepare(follow).run(old, new) }
                mended.append((table.name, "\(old)"))
                // There is none left up to which one counts, and the next would be found as damaged again.
                guard new < SQL.bound else { break }
            }
            return mended
        }
    }

    /// Gives a row another number; nil for one that is damaged elsewhere, too, which SQLite refuses to write.
    private func newNumber(of old: Int64, _ table: Numbered) throws -> Int64? {
        do {
            return try database.prepare(table.mend).all(old) { try $0.get(0, as: Int64.self) }.first
        } catch let error as DatabaseError where error.isOfWrongType {
            return nil
        }
    }

    /// Gives fires that are not over and do not say whose they are the job that waits for them, or that they have a run of; returns
    /// which.
    ///
    /// Else that job would stand still, as it has its next fire by its own row. One that is damaged elsewhere, too, stays as it is.
    func findJobs() throws -> [(table: String, row: String)] {
        let strays = try database.prepare(SQL.strayFires).all { try $0.get(0, as: FireID.self) }
        guard !strays.isEmpty else { return [] }
        // By one look at all jobs, however many fires there are: nothing else finds the job of a claim.
        let claims = try database.prepare(SQL.claimsOfStrays).all { row in
            (fire: try row.get(0, as: FireID.self), job: try row.get(1, as: JobID.self))
        }
        let jobs = Dictionary(claims.map { ($0.fire, $0.job) }) { $1 }
        return try strays.filter { fire in
            do {
                try database.prepare(SQL.findJob).run(fire, jobs[fire])
                return database.changes > 0
            } catch let error as DatabaseError where error.isOfWrongType {
                return false
            }
        }.map { ("fires", "\($0)") }
    }

    /// A table whose rows are numbered by `DaemonState.SQL.next`.
    private struct Numbered {
        var name: String
        /// The number of the first damaged row behind ?1.
        var damaged: String
        /// Gives that row, ?1, another number, which it returns.
        var mend: String
        /// Have what was numbered by it, ?1, follow to ?2.
        var followers: [String] = []
    }

    private static let numbered = [
        Numbered(name: "jobs", damaged: SQL.damagedJob, mend: SQL.renumberJob),
        Numbered(
            name: "fires",
            damaged: SQL.damagedFire,
            mend: SQL.renumberFire,
            followers: [SQL.followFireByRun, SQL.followFireByTask, SQL.followFireByJob]
        ),
        Numbered(
            name: "runs",
            damaged: SQL.damagedRun,
            mend: SQL.renumberRun,
            followers: [SQL.followRunByOutput, SQL.followRunByTask]
        ),
        Numbered(name: "notices", damaged: SQL.damagedNotice, mend: SQL.renumberNotice),
    ]
}

extension DamagedRows.SQL {
    fileprivate static let bound: Int64 = 1 << 62

    /// One that has a row of that number in a table that refers to jobs is not damaged, but numbered behind such a row.
    static let damagedJob = "SELECT id FROM jobs WHERE id > ?1 AND \(isAlone) ORDER BY id LIMIT 1"
    private static let isAlone = [
        "job_definitions", "fires", "runs", "boot_jobs", "job_targets", "notice_states",
    ].map { "NOT EXISTS (SELECT 1 FROM \($0) AS r WHERE r.job_id = jobs.id)" }
        .joined(separator: " AND ")
    static let damagedFire = "SELECT id FROM fires WHERE id > ?1 ORDER BY id LIMIT 1"
    static let damagedRun = "SELECT id FROM runs WHERE id > ?1 ORDER BY id LIMIT 1"
    static let damagedNotice = "SELECT id FROM notices WHERE id > ?1 ORDER BY id LIMIT 1"

    /// The only definition of its owner that has no job is its own.
    static let renumberJob = """
        UPDATE jobs SET id = coalesce((
            SELECT iif(count(*) = 1, max(d.job_id), NULL) FROM job_definitions AS d
            WHERE d.owner_id = jobs.owner_id AND d.job_id < \(bound)
                AND NOT EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = d.job_id)),
            \(DaemonState.SQL.next("jobs")))
        WHERE id = ?1 RETURNING id
        """
    /// Runs, a task, or the job's claim may have the number of a fire that is not there.
    static let renumberFire = """
        UPDATE fires SET id = coalesce(
            (SELECT max(r.fire_id) FROM runs AS r
                WHERE r.job_id = fires.job_id AND \(isGone("r.fire_id"))),
            (SELECT max(t.fire_id) FROM tasks AS t
                WHERE t.job_id = fires.job_id AND \(isGone("t.fire_id"))),
            (SELECT j.claim_id FROM jobs AS j
                WHERE j.id = fires.job_id AND j.fire_date_us = fires.fire_date_us
                    AND \(isGone("j.claim_id"))),
            \(DaemonState.SQL.next("fires")))
        WHERE id = ?1 RETURNING id
        """
    static let renumberRun = """
        UPDATE runs SET id = \(DaemonState.SQL.next("runs")) WHERE id = ?1 RETURNING id
        """
    static let renumberNotice = """
        UPDATE notices SET id = \(DaemonState.SQL.next("notices")) WHERE id = ?1 RETURNING id
        """

    static let followFireByRun = "UPDATE runs SET fire_id = ?2 WHERE fire_id = ?1"
    static let followFireByTask = "UPDATE tasks SET fire_id = ?2 WHERE fire_id = ?1"
    static let followFireByJob = """
        UPDATE jobs SET claim_id = ?2
        WHERE id = (SELECT job_id FROM fires WHERE fires.id = ?2) AND claim_id = ?1
        """
    static let followRunByOutput = "UPDATE run_output SET run_id = ?2 WHERE run_id = ?1"
    static let followRunByTask = """
        UPDATE tasks SET run_id = ?2
        WHERE fire_id = (SELECT fire_id FROM runs WHERE runs.id = ?2) AND run_id = ?1
        """

    static let strayFires = """
        SELECT id FROM fires INDEXED BY fires_open
        WHERE \(RunRow.isOpen) AND typeof(job_id) <> 'integer'
        """
    static let claimsOfStrays = """
        SELECT claim_id, max(id) FROM jobs WHERE claim_id IN (\(strayFires)) GROUP BY claim_id
        """
    static let findJob = """
        UPDATE OR IGNORE fires SET job_id = coalesce(
            ?2,
            (SELECT max(r.job_id) FROM runs AS r
                WHERE r.fire_id = fires.id AND EXISTS (SELECT 1 FROM jobs WHERE jobs.id = r.job_id)),
            job_id)
        WHERE id = ?1
        """

    private static func isGone(_ fire: String) -> String {
        "\(fire) < \(bound) AND NOT EXISTS (SELECT 1 FROM fires AS f WHERE f.id = \(fire))"
    }
}

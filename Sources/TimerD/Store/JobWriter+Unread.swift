// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Schedules
import TimerControl

/// Jobs that can be read, and have rows of fires or runs that cannot: of a newer version, or damaged.
///
/// A row that is over concerns nobody but who lists it. One that is open, or that stands where the job's
/// next date is looked for, holds its job: what it means decides what comes next, and nobody can say.
extension JobWriter {
    /// The job, as one that cannot be read where its zone is gone, or a row that it goes on from cannot.
    ///
    /// Rows are asked for of held jobs alone: the others have been found readable, or nobody has looked yet.
    func withUnreadRows(_ job: StoredJob) throws -> StoredJob {
        guard job.unread == nil, job.state.isLive else { return job }
        if let reason = goneZone(of: job) { return try job.unread(reason, in: database) }
        guard job.held != nil, let reason = try unreadRow(of: job) else { return job }
        return try job.unread(reason, in: database)
    }

    /// Why a row that the job goes on from cannot be read; nil where each can.
    func unreadRow(of job: StoredJob) throws -> String? {
        let rows = try database.prepare(SQL.rowsToGoOnFrom).all(job.id, job.claim?.fire) { row in
            RunRow.run(from: row).run
        }
        return rows.first { $0.unread != nil }.map(\.unreadSentence)
    }

    /// Why a fire, or a run of it, cannot be read; nil where all can.
    func unreadRow(of fire: FireID) throws -> String? {
        let rows = try database.prepare(SQL.rowsOfFire).all(fire) { RunRow.run(from: $0).run }
        return rows.first { $0.unread != nil }.map(\.unreadSentence)
    }

    /// Holds the job for what cannot be read of its fires.
    mutating func hold(_ job: StoredJob, unreadRow reason: String) throws {
        let unread = try job.unread(reason, in: database)
        try hold(unread, unread.unread?.reason ?? reason)
    }

    /// Changes the job, or holds it where a row of its history cannot be read on the way.
    ///
    /// What has been stored by then stays as true as it was: dates that have their row.
    mutating func orHold(
        _ job: StoredJob,
        _ change: (inout JobWriter, inout StoredJob) throws -> Void
    ) throws {
        var job = job
        do {
            try change(&self, &job)
        } catch let error as DatabaseError where error.isUnreadableValue {
            guard job.state.isLive else { throw error }
            try hold(job, unreadRow: try unreadRow(of: job) ?? error.message)
        }
    }
}

extension StoredJob {
    /// The same as a job that cannot be read: its row stays as it is until all of its rows can be.
    func unread(_ reason: String, in database: Database) throws -> StoredJob {
        var job = self
        job.unread = Unread(
            reason: reason,
            definition: try database.prepare(JobWriter.SQL.definition).value(id) ?? "",
            anchor: schedule.anchor,
            movedFrom: movedFrom,
            dueDate: dueDate,
            uncut: uncut
        )
        return job
    }
}

extension Run {
    /// Which row it is, and why it cannot be read.
    fileprivate var unreadSentence: String {
        "its fire \(fire)\(id.map { " (run \($0))" } ?? "") cannot be read: \(unread ?? "")"
    }
}

extension DatabaseError {
    /// A row holds what is of another type than its column, or a word that is not known.
    var isUnreadableValue: Bool { code == SQLITE_MISMATCH }
}

extension JobWriter.SQL {
    static let rowsOfFire = """
        SELECT \(RunRow.columns), fires.fire_date_us FROM \(RunRow.source) WHERE fires.id = ?1
        """
    /// The claim, what is open, and what has no date that could be compared; a job's fires are few.
    static let rowsToGoOnFrom = """
        SELECT \(RunRow.columns), fires.fire_date_us FROM \(RunRow.source)
        WHERE fires.job_id = ?1 AND (fires.id = ?2 OR \(RunRow.isOpen)
            OR typeof(fires.fire_date_us) <> 'integer' OR typeof(fires.wall_date_us) <> 'integer'
            OR typeof(coalesce(fires.last_date_us, 0)) <> 'integer')
        ORDER BY fires.id, runs.id
        """
    static let definition = "SELECT definition FROM job_definitions WHERE job_id = ?1"
}

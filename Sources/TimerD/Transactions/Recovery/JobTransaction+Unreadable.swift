// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// Jobs with rows of fires or runs that cannot be read: of a newer version, or damaged.
///
/// An unreadable row that is over matters only in lists. An open one, or one that the job's next date is compared
/// with, holds its job: what comes next depends on it, and nobody can say what it means.
extension JobTransaction {
    /// The job, marked as unreadable if its zone is gone, or a row that it goes on from or is tied by cannot be read.
    ///
    /// Only the rows of held jobs are looked at: the others have been found readable, or are looked at when
    /// they are due.
    func withUnreadRows(_ job: StoredJob) throws -> StoredJob {
        guard job.unread == nil, job.state.isLive else { return job }
        if let reason = goneZone(of: job) { return try job.unread(reason, jobs) }
        guard job.held != nil,
            let reason = try unreadRow(of: job) ?? jobs.unreadTarget(of: job.id)
        else { return job }
        return try job.unread(reason, jobs)
    }

    /// Why a row that the job goes on from cannot be read; nil if all can.
    func unreadRow(of job: StoredJob) throws -> String? {
        try fires.rowsToGoOnFrom(job).first { $0.unread != nil }.map(\.unreadSentence)
    }

    /// Why a fire, or a run of it, cannot be read; nil if all can.
    func unreadRow(of fire: FireID) throws -> String? {
        try fires.rows(of: fire).first { $0.unread != nil }.map(\.unreadSentence)
    }

    /// Holds the job for what cannot be read of its fires.
    mutating func hold(_ job: StoredJob, unreadRow reason: String) throws {
        let unread = try job.unread(reason, jobs)
        try hold(unread, unread.unread?.reason ?? reason)
    }

    /// Carries out `change`, or holds the job if `change` comes upon a row that cannot be read.
    ///
    /// The rows that `change` had written by then stay: they are true.
    mutating func orHold(
        _ job: StoredJob,
        _ change: (inout JobTransaction, inout StoredJob) throws -> Void
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
    /// The job marked as unreadable: its own row stays as it is until all its rows can be read.
    func unread(_ reason: String, _ jobs: JobStore) throws -> StoredJob {
        var job = self
        job.unread = Unread(
            reason: reason,
            definition: try jobs.definition(of: id) ?? "",
            anchor: schedule.anchor,
            movedFrom: movedFrom,
            dueDate: dueDate,
            rowsSinceTrim: rowsSinceTrim
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

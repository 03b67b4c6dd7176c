// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What a start of the machine, and a clock that is set back, do to jobs.
extension JobWriter {
    /// The machine has started: jobs of `@reboot` are due now.
    mutating func machineStarted() throws {
        let ids = try database.prepare(SQL.bootJobs).all { try $0.get(0, as: JobID.self) }
        for id in ids {
            guard var job = try job(id), job.claim == nil else { continue }
            job.fireDate = moment.wall
            guard job.state == .paused, job.unread == nil else {
                try put(job)
                continue
            }
            let date = MisfirePolicy.SkippedDates(
                first: moment.wall,
                last: moment.wall,
                count: 1,
                reason: .paused
            )
            try skip(date, of: &job, .paused)
            try put(job)
        }
    }

    /// Lets wall jobs follow a clock that was set back.
    ///
    /// A job that fired while the clock stood in its future would otherwise wait until that comes
    /// again. Dates that had their fire stay as they are, and fire no second time; dates that were
    /// left out, and now lie ahead again, are dates like any other. Looks at those jobs alone that
    /// have a row after now, or were added after it.
    ///
    /// `disarmed`: jobs with a claim whose timers were taken out of the loop for this.
    mutating func followClockBack(disarmed: [StoredJob] = []) throws {
        for job in disarmed {
            try orHold(job) { writer, job in
                let date = job.fireDate
                if try writer.removeClaim(of: &job), let date {
                    try writer.advance(&job, past: date)
                }
                try writer.settleAndPut(job)
            }
        }
        try followBootBack()
        // A clock that was never set knows nothing: what is to come is kept for when it is.
        guard moment.wall >= .earliestOfClocks else { return }
        let ids = try database.prepare(SQL.jobsAhead).all(moment.wall) {
            try $0.get(0, as: JobID.self)
        }
        for id in Set(ids).union(try jobsAddedAhead()).sorted() {
            guard let job = try job(id), job.state.isLive, job.unread == nil, job.clock == .wall
            else { continue }
            try orHold(job) { try $0.follow($1) }
        }
    }

    /// The machine has started, whatever its clock said then: what that made due waits for no date.
    private mutating func followBootBack() throws {
        let ids = try database.prepare(SQL.bootJobs).all { try $0.get(0, as: JobID.self) }
        for id in ids {
            guard var job = try job(id), job.state == .scheduled, job.unread == nil,
                let date = job.fireDate,
                date > moment.wall
            else { continue }
            try removeClaim(of: &job)
            if try row(of: job, covering: date) == nil {
                job.fireDate = moment.wall
            } else {
                try advance(&job, past: date)
            }
            try settleAndPut(job)
        }
    }

    /// Jobs that were added while the clock stood after now, and have not followed it back since:
    /// the newest ones, up to one that was added before.
    private func jobsAddedAhead() throws -> [JobID] {
        let before = try database.prepare(SQL.jobBefore)
        var ids: [JobID] = []
        var last = Int64.max
        while let (id, addedAt) = try before.first(
            last,
            row: { row in
                (try row.get(0, as: JobID.self), try row.get(1, as: Timestamp.self))
            }
        ), addedAt > moment.wall {
            ids.append(id)
            last = id.rawValue
        }
        return ids
    }

    private mutating func follow(_ job: StoredJob) throws {
        // A date that its user moved stays where it was put; a start of the machine is over.
        if case .reboot = job.schedule { return }
        guard job.movedFrom == nil else { return }
        var job = job
        let moved = try forgetDatesAhead(of: job)
        var date = job.schedule.nextFireDate(after: moment.wall)
        // What has fired, or was dropped by its user, has its row.
        while let taken = try date.flatMap({ try row(of: job, covering: $0) }) {
            date = job.schedule.nextFireDate(after: taken.last)
        }
        guard let next = moved ?? date, job.fireDate.map({ next < $0 }) ?? true else { return }
        try removeClaim(of: &job)
        job.fireDate = next
        // The next is once more where its user put it, in place of the dates up to there.
        if let moved {
            let isBehind = date.map { $0 < moved } ?? false
            job.movedFrom = try isBehind ? date : origin(of: moved, job, before: date)
        }
        try settleAndPut(job)
    }

    /// The date that was moved to `date`, by the row that it left; nil where that is not kept.
    ///
    /// Behind `next` no date of the job has been settled.
    private func origin(of date: Timestamp, _ job: StoredJob, before next: Timestamp?) throws
        -> Timestamp?
    {
        try database.prepare(SQL.movedAround).first(job.id, date, next ?? .distantFuture) {
            try $0.get(0)
        }
    }

    /// Takes back the rows of dates that were left out and are still to come.
    ///
    /// - Returns: the first of them that its user had moved there, and which the schedule knows nothing of.
    private func forgetDatesAhead(of job: StoredJob) throws -> Timestamp? {
        let now = moment.wall
        var moved: Timestamp?
        let rows = try database.prepare(SQL.leftOutAhead).all(job.id, now) { row in
            (id: try row.get(0, as: FireID.self), first: try row.get(1, as: Timestamp.self))
        }
        for row in rows {
            guard row.first <= now else {
                if moved == nil, job.isMoved(row.first) { moved = row.first }
                try database.prepare(SQL.deleteFire).run(row.id)
                continue
            }
            let passed = job.schedule.passedDates(from: row.first, through: now, newest: 1)
            try database.prepare(SQL.shorten).run(
                row.id,
                passed.count,
                passed.count > 1 ? passed.last : nil
            )
        }
        return moved
    }
}

extension StoredJob {
    /// Whether `date`, which has a row, was moved alone to where it is; a grid moves as a whole.
    fileprivate func isMoved(_ date: Timestamp) -> Bool {
        switch schedule {
        case .cron, .calendar:
            schedule.nextFireDate(after: date - TimeSpan(microseconds: 1)) != date
        case .once, .every, .reboot: false
        }
    }
}

extension Timestamp {
    /// No machine that runs this program has a clock before its time: one that shows less was not
    /// set, as without a battery it stands at 1970 until the network tells the time.
    static let earliestOfClocks = Timestamp(microseconds: 1_767_225_600_000_000)  // 2026-01-01
}

extension JobWriter.SQL {
    /// All of them, each with a look at its job; left to itself, SQLite looks at all jobs.
    static let bootJobs = """
        SELECT boot_jobs.job_id FROM boot_jobs CROSS JOIN jobs ON jobs.id = boot_jobs.job_id
        WHERE jobs.state IN ('scheduled', 'paused')
        """
    /// Looks at what lies after now alone; left to itself, SQLite reads all fires in the order of their jobs.
    static let jobsAhead = """
        SELECT DISTINCT job_id FROM fires INDEXED BY fires_by_date
        WHERE coalesce(last_date_us, wall_date_us) > ?1 AND state <> 'claimed'
            AND (reason IS NULL
                OR reason NOT IN ('skip', 'moved', 'manual', 'withdrawn', 'zoneChanged'))
        """
    static let jobBefore = """
        SELECT job_id, added_at_us FROM job_definitions
        WHERE job_id < ?1 ORDER BY job_id DESC LIMIT 1
        """
    static let leftOutAhead = """
        SELECT id, fire_date_us FROM fires
        WHERE job_id = ?1 AND coalesce(last_date_us, wall_date_us) > ?2 AND state = 'skipped'
            AND reason NOT IN ('skip', 'moved', 'manual', 'withdrawn', 'overlap', 'zoneChanged')
        ORDER BY fire_date_us
        """
    private static let moved = """
        SELECT fire_date_us FROM fires WHERE job_id = ?1 AND reason = 'moved'
        """
    static let movedAround = """
        SELECT * FROM (
            \(moved) AND fire_date_us > ?2 AND fire_date_us < ?3 ORDER BY fire_date_us LIMIT 1
        )
        UNION ALL SELECT * FROM (
            \(moved) AND fire_date_us <= ?2 ORDER BY fire_date_us DESC LIMIT 1
        )
        """
    static let shorten = "UPDATE fires SET dates = ?2, last_date_us = ?3 WHERE id = ?1"
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

extension JobWriter {
    /// Settles the job's dates that have passed, claims the next one if the window covers it, and
    /// writes the job.
    @discardableResult
    mutating func settleAndPut(_ job: StoredJob) throws -> StoredJob {
        var job = job
        if job.state == .scheduled { try settle(&job) }
        try put(job)
        return job
    }

    private mutating func settle(_ job: inout StoredJob) throws {
        while job.state == .scheduled, job.claim == nil, let date = job.fireDate,
            date < moment.date(ofElapsed: horizon, on: job.clock)
        {
            let now = moment.reading(of: job.clock)
            guard date <= now else {
                try claim(date, missed: 0, of: &job)
                continue
            }
            let until = job.policy.until.map { moment.date(ofWall: $0, on: job.clock) }
            if let until, date > until {
                // Only a step of the wall clock brings an elapsed date behind a wall date.
                try end(&job, .finished, .until)
                return
            }
            let settlement = job.policy.misfire.settle(
                job.schedule,
                from: date,
                until: until,
                at: now
            )
            for dates in settlement.skipped { try skip(dates, of: job) }
            if let fire = settlement.fire {
                try claim(fire.date, missed: fire.missed, of: &job)
            } else if let last = settlement.skipped.last?.last {
                try advance(&job, past: last)
            }
        }
    }

    /// Moves the job to the date that follows `date`, or ends it.
    mutating func advance(_ job: inout StoredJob, past date: Timestamp) throws {
        switch job.next(after: date, fires: job.fires, at: moment) {
        case .date(let next): job.fireDate = next
        case .ended(let reason): try end(&job, .finished, reason)
        }
    }

    /// Inserts the fire of `date`; where that date has had its fire, moves on past all that had.
    private mutating func claim(_ date: Timestamp, missed: Int, of job: inout StoredJob) throws {
        try database.prepare(SQL.insertClaim).run(
            job.id,
            date,
            moment.wallDate(date, on: job.clock),
            missed
        )
        if database.changes == 1 {
            let fire = FireID(rawValue: database.lastInsertRowID)
            job.claim = StoredJob.Claim(
                fire: fire,
                missed: missed,
                isSettled: date <= moment.reading(of: job.clock)
            )
            job.fireDate = date
        } else {
            let newest = try database.prepare(SQL.newestFireDate).first(job.id) {
                try $0.get(0, as: Timestamp.self)
            }
            try advance(&job, past: max(date, newest ?? date))
        }
    }

    /// Stores dates that do not become fires, with the reason.
    private mutating func skip(_ dates: MisfirePolicy.SkippedDates, of job: StoredJob) throws {
        let first = moment.wallDate(dates.first, on: job.clock)
        let last = moment.wallDate(dates.last, on: job.clock)
        try database.prepare(SQL.insertSkipped).run(
            job.id,
            dates.first,
            first,
            dates.reason,
            dates.count,
            dates.count > 1 ? last : nil
        )
        guard database.changes == 1 else { return }
        let fire = FireID(rawValue: database.lastInsertRowID)
        try note(.fireSkipped, job, dates.reason.rawValue, fire: fire) {
            $0.fireDate = first
            $0.through = dates.count > 1 ? last : nil
            $0.dates = dates.count > 1 ? dates.count : nil
        }
    }
}

extension Moment {
    /// What `clock` shows when elapsed time is `date`.
    func date(ofElapsed date: Timestamp, on clock: ScheduleClock) -> Timestamp {
        clock == .wall ? date + shift : date
    }
}

extension JobWriter.SQL {
    static let insertClaim = """
        INSERT INTO fires (job_id, fire_date_us, wall_date_us, state, missed)
        VALUES (?1, ?2, ?3, 'claimed', ?4) ON CONFLICT (job_id, fire_date_us) DO NOTHING
        """
    static let newestFireDate = "SELECT max(fire_date_us) FROM fires WHERE job_id = ?1"
    static let insertSkipped = """
        INSERT INTO fires (job_id, fire_date_us, wall_date_us, state, reason, dates, last_date_us)
        VALUES (?1, ?2, ?3, 'skipped', ?4, ?5, ?6) ON CONFLICT (job_id, fire_date_us) DO NOTHING
        """
}

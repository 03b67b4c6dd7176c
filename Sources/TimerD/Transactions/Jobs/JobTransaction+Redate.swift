// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A job that goes on by another schedule: it stays the job that it is, with its id and its history.
extension JobTransaction {
    /// Makes the job what `new` says, with the dates of its schedule, and writes it.
    ///
    /// Dates of the old schedule that have passed without a fire get a row that says so, those ahead are none any
    /// more. A date that has fired, or was dropped, is not fired again where the new schedule has it too. `fires`
    /// begins anew, as `count` does: it counts the fires of the schedule.
    mutating func redate(_ old: StoredJob, to new: NewJob, isPaused: Bool) throws -> StoredJob {
        var (job, first) = (old, new.firstFireDate(at: moment))
        try releaseClaim(of: &job)
        // A claim that is left has begun: its run goes on, and ends by the number of its fire.
        if job.claim != nil, let date = job.fireDate {
            try deleteClaimsAhead(of: &job, after: date)
        }
        job.claim = nil
        // The first date was computed before this write; the job may have fired on it since.
        let now = moment.reading(of: new.clock)
        if let date = first, date <= now,
            try fires.hasFired(job.id, since: moment.wallDate(date, on: new.clock))
        {
            first = new.schedule.nextFireDate(after: now) ?? first
        }
        // A one-shot that has the same date stated otherwise, as an export states that of `in`, has not lost it.
        if !hasSameDate(job, as: new, first) { try recordUnfired(&job, .changed) }
        try forgetSkippedAhead(of: job)
        if new.clock != job.clock {
            let reading = moment.reading(of: job.clock)
            try fires.shiftDates(of: job.id, by: now - reading)
        }
        if let rules = new.rules { try remember(rules) }
        try fires.beginCountAnew(of: job.id)
        try jobs.updateDefinition(of: job, to: new)
        try jobs.updateSchedule(of: job, to: new)
        (job.clock, job.schedule, job.rules) = (new.clock, new.schedule, new.rules?.id)
        (job.fireDate, job.movedFrom, job.fires) = (first, nil, 0)
        (job.definition, job.policy) = (new.definition, new.policy)
        job.revision = try EventWords(database).revision(of: job.id)
        job.definitionRevision += 1
        try closeOvertaken(of: &job, was: old.definition)
        return try goOn(as: job, from: old.policy, isPaused: isPaused)
    }

    /// Whether the job has one date, and is to have the same.
    private func hasSameDate(_ job: StoredJob, as new: NewJob, _ first: Timestamp?) -> Bool {
        guard job.isOneShot, case .once = new.schedule, let first else { return false }
        return moment.wallDate(first, on: new.clock) == job.wallFireDate(at: moment)
    }

    /// Forgets the dates after now of which rows say that they will not fire.
    private func forgetSkippedAhead(of job: StoredJob) throws {
        let now = moment.reading(of: job.clock)
        for row in try fires.skipped(of: job.id, beyond: now) {
            try cut(row.id, from: row.first, through: now, of: job)
        }
    }
}

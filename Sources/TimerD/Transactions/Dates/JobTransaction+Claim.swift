// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

extension JobTransaction {
    /// Decides what becomes of the job's passed dates, claims the next date if the window covers it, and writes
    /// the job.
    ///
    /// `depth`: how many dates after the next one are to be claimed in all; `most`: how many by this write.
    @discardableResult
    mutating func resolveAndPut(
        _ job: StoredJob,
        depth: Int = 0,
        most: Int = ClaimDepth.perWrite
    ) throws -> StoredJob {
        var job = job
        if let reason = goneZone(of: job), job.state.isLive, job.held == nil, job.claim == nil {
            try hold(job.unread(reason, jobs), reason)
            return job
        }
        if job.state == .scheduled { try resolve(&job) }
        if depth > 0 { try claimAhead(of: &job, depth: depth, most: most) }
        try put(job)
        return job
    }

    /// Decides what becomes of the dates of a job that is added, and writes it; if one has come its fire, a task, is ready with
    /// the job, without a timer.
    mutating func resolveAndBeginTask(_ new: StoredJob) throws -> StoredJob {
        var job = new
        // Also where the window ends before now, as the loop is late and has not moved it on.
        if goneZone(of: job) == nil { try resolve(&job, isDueAnyway: true) }
        guard job.claim?.isPast == true else { return try resolveAndPut(job) }
        if try recordTask(job) { outcome.tasksAtOnce += 1 }
        return outcome.jobs.last ?? job
    }

    private mutating func resolve(_ job: inout StoredJob, isDueAnyway: Bool = false) throws {
        let before = job.fireDate
        let change: FireReason? = try followRules(&job) ? .zoneChanged : nil
        try attributing(missedFor ?? change) {
            try $0.resolveDates(of: &job, isDueAnyway: isDueAnyway)
        }
        // The job may have got a new date here that is too far ahead for a claim, and that its user has dropped.
        if job.state == .scheduled, !job.isHeld, job.claim == nil, job.fireDate != before {
            try passTaken(&job)
        }
    }

    /// Decides what becomes of the dates that have passed, and claims the next if the window covers it.
    private mutating func resolveDates(of job: inout StoredJob, isDueAnyway: Bool) throws {
        while job.state == .scheduled, !job.isHeld, job.claim == nil, let date = job.fireDate,
            let due = job.dueDate,
            isDueAnyway || due < moment.date(ofElapsed: terms.horizons[job.ownerID], on: job.clock)
        {
            let now = moment.reading(of: job.clock)
            guard due <= now else {
                try claim(date, missed: 0, isPast: false, of: &job)
                continue
            }
            let until = job.policy.until.map { moment.date(ofWall: $0, on: job.clock) }
            if let until, date > until {
                // Only a step of the wall clock puts a date in elapsed time after `until`, which is in wall time.
                try end(&job, .finished, .until)
                return
            }
            if try passTaken(&job) { continue }
            let resolution = job.policy.misfire.resolve(
                job.dates,
                from: date,
                until: try end(of: job, from: date, until: until, at: now),
                at: now
            )
            // Counted before `skip` gives these dates rows of their own.
            let taken = try resolution.skipped.filter { $0.reason == .coalesced }
                .map { try countTaken(of: job, from: $0.first, through: $0.last) }
            for var dates in resolution.skipped {
                dates.reason = cause(of: dates, job)
                try skip(dates, of: &job)
            }
            if let fire = resolution.fire {
                if fire.date != date { try recordMove(of: &job, through: date) }
                // A change may have released the claim of a fire that was to stand for those before it. One start of the machine
                // is no more than itself.
                let isOfStart = if case .reboot = job.schedule { true } else { false }
                let before = isOfStart ? 0 : try fires.coalesced(before: date, of: job.id)
                let missed = fire.missed - taken.reduce(0, +) + before
                try claim(fire.date, missed: missed, isPast: true, of: &job)
            } else if let last = resolution.skipped.last?.last {
                try advance(&job, past: last)
            }
        }
    }

    /// Moves the job to the date that follows `date`, or ends it; that date may have a row, see `passTaken`.
    mutating func advance(
        _ job: inout StoredJob,
        past date: Timestamp,
        endingAs end: StoredJob.EndReason? = nil
    ) throws {
        let next = job.next(after: date, fires: job.fires, at: moment)
        if let fireDate = job.fireDate, date >= fireDate {
            try recordMove(of: &job, through: fireDate)
        }
        switch next {
        case .date(let next): job.fireDate = next
        case .unknown: job.fireDate = nil
        case .ended(let reason): try self.end(&job, .finished, end ?? reason)
        }
    }

    /// Claims `date`; if that date has its row already, moves on to the next.
    ///
    /// `isPast`: whether it was due, so that the misfire policy has decided; one that has come and that jitter puts off
    /// was not.
    private mutating func claim(
        _ date: Timestamp,
        missed: Int,
        isPast: Bool,
        of job: inout StoredJob
    ) throws {
        if let row = try row(of: job, covering: date) {
            try advance(&job, past: row.last)
            return
        }
        if let fire = try fires.insertClaim(date, of: job, at: moment, missed: missed) {
            job.rowsSinceTrim += 1
            job.ahead = []
            job.claim = StoredJob.Claim(fire: fire, missed: missed, isPast: isPast)
            job.fireDate = date
        } else if var left = try fires.claim(of: job.id, at: date) {
            // The claim stayed when the job was held, and the job's row lost it.
            left.isPast = isPast
            job.claim = left
            job.ahead = nil
            job.fireDate = date
        } else {
            // A user fired the job at this very instant.
            try advance(&job, past: date)
        }
    }

    /// Why passed dates did not become fires: the cause if it is known, else the rule of the misfire policy.
    private func cause(of dates: MisfirePolicy.SkippedDates, _ job: StoredJob) -> FireReason {
        guard dates.reason == .misfire || dates.reason == .coalesced else { return dates.reason }
        if let missedFor, missedFor != .overload { return missedFor }
        if job.clock == .wall, let gap = moment.skipped, dates.first > gap.lowerBound,
            dates.last <= gap.upperBound
        {
            return .clockStepped
        }
        return missedFor ?? dates.reason
    }

    /// Stores that the schedule's own dates through `end` were replaced by a moved one.
    mutating func recordMove(of job: inout StoredJob, through end: Timestamp) throws {
        guard let from = job.movedFrom else { return }
        // A moved date that is also one of the schedule's has a row of its own.
        let end = end - TimeSpan(microseconds: 1)
        let passed = job.schedule.passedDates(from: from, through: max(from, end), newest: 1)
        job.movedFrom = nil
        let dates = MisfirePolicy.SkippedDates(
            first: from,
            last: passed.last,
            count: passed.count,
            reason: .moved
        )
        try skip(dates, of: &job)
    }
}

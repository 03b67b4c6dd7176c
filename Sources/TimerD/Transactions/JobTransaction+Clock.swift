// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What a start of the machine, and a clock that is set back, do to jobs.
extension JobTransaction {
    /// The machine has started: jobs of `@reboot` are due now.
    mutating func machineStarted() throws {
        for id in try jobs.bootIDs() {
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
            try orHold(job) { transaction, job in
                let date = job.fireDate
                if try transaction.removeClaim(of: &job), let date {
                    try transaction.advance(&job, past: date)
                }
                try transaction.settleAndPut(job)
            }
        }
        try followBootBack()
        // A clock that was never set knows nothing: what is to come is kept for when it is.
        guard moment.wall >= .earliestOfClocks else { return }
        let ids = try fires.jobsAhead(of: moment.wall)
        for id in Set(ids).union(try jobsAddedAhead()).sorted() {
            guard let job = try job(id), job.state.isLive, job.unread == nil, job.clock == .wall
            else { continue }
            try orHold(job) { try $0.follow($1) }
        }
    }

    /// The machine has started, whatever its clock said then: what that made due waits for no date.
    private mutating func followBootBack() throws {
        for id in try jobs.bootIDs() {
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
        var ids: [JobID] = []
        var last = JobID(rawValue: .max)
        while let job = try jobs.added(before: last), job.addedAt > moment.wall {
            ids.append(job.id)
            last = job.id
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
        try fires.movedDate(to: date, before: next ?? .distantFuture, job.id)
    }

    /// Takes back the rows of dates that were left out and are still to come.
    ///
    /// - Returns: the first of them that its user had moved there, and which the schedule knows nothing of.
    private func forgetDatesAhead(of job: StoredJob) throws -> Timestamp? {
        let now = moment.wall
        var moved: Timestamp?
        for row in try fires.skippedAhead(of: now, job.id) {
            guard row.first <= now else {
                if moved == nil, job.isMoved(row.first) { moved = row.first }
                try fires.delete(row.id)
                continue
            }
            let passed = job.schedule.passedDates(from: row.first, through: now, newest: 1)
            let last = passed.count > 1 ? passed.last : nil
            try fires.shorten(row.id, to: passed.count, last: last)
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

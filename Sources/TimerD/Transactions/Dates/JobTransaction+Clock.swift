// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What happens to jobs when the machine starts and when the clock is set back.
extension JobTransaction {
    /// The machine has started: jobs of `@reboot` are due now.
    ///
    /// A fire of the start before goes on if it has begun; if not, a row says why it did not fire.
    mutating func machineStarted() throws {
        for id in try jobs.bootIDs() {
            guard var job = try job(id) else { continue }
            guard job.unread == nil else {
                if job.claim == nil {
                    // The date of the start before is skipped with the reason `held`: the job's misfire rule cannot be read.
                    if let date = job.fireDate {
                        try insertSkipped(date, date, 1, of: &job, .held)
                    }
                    job.fireDate = moment.wall
                    try put(job)
                }
                continue
            }
            try orHold(job) { transaction, job in
                try transaction.settleStartBefore(&job)
                if job.state.isLive {
                    job.fireDate = transaction.moment.wall
                    if job.state == .paused { try transaction.skipStart(of: &job, .paused) }
                }
                try transaction.put(job)
            }
        }
    }

    /// Settles the date of the start before this one, where the job still has it.
    private mutating func settleStartBefore(_ job: inout StoredJob) throws {
        guard let date = job.fireDate else { return }
        if let claim = job.claim {
            if try fires.knownState(of: claim.fire) != .claimed {
                // Its command has begun; if it has not, the recovery finds that out and begins it.
                job.claim = nil
                job.fires += 1
                return try advance(&job, past: date)
            }
            // An event that may have been told is told again.
            if try deleteClaim(of: &job) { return try advance(&job, past: date) }
        }
        let reason: FireReason =
            switch (job.isHeld, job.state, job.policy.misfire.mode) {
            case (true, _, _): .held
            case (_, .paused, _): .paused
            case (_, _, .skip): .misfire
            case (_, _, .once), (_, _, .all): .coalesced
            }
        try skipStart(of: &job, reason)
    }

    /// Stores that the start of the machine that a job of `@reboot` has as its date does not become a fire.
    private mutating func skipStart(of job: inout StoredJob, _ reason: FireReason) throws {
        guard let date = job.fireDate else { return }
        let dates = MisfirePolicy.SkippedDates(first: date, last: date, count: 1, reason: reason)
        try skip(dates, of: &job)
    }

    /// Lets wall jobs follow a clock that was set back.
    ///
    /// A job that fired while the clock was ahead would otherwise wait until the clock has caught up. Dates that
    /// had their fire do not fire again. Dates that were skipped, and are now to come again, are like any
    /// other. Reads only jobs with a row after now, and the newest jobs that were added after now; for the others that
    /// were added or changed then see the pieces of `followClockBack(after:)`.
    ///
    /// `disarmed`: claimed jobs whose timers the scheduler has taken out of the loop for this. `isStart`: nothing is armed
    /// yet, and claims are what the daemon before this one has left.
    mutating func followClockBack(disarmed: [StoredJob] = [], isStart: Bool = false) throws {
        for job in disarmed {
            try orHold(job) { transaction, job in
                let date = job.fireDate
                if try transaction.deleteClaim(of: &job), let date {
                    try transaction.advance(&job, past: date)
                    try transaction.passTaken(&job)
                }
                try transaction.goBackIfChanged(&job)
                try transaction.resolveAndPut(job)
            }
        }
        try followBootBack()
        // A clock that was never set says nothing: dates stay as they are until it is set.
        guard moment.wall >= .earliestOfClocks else { return }
        var ids = Set(try fires.jobsAhead(of: moment.wall)).union(try jobsAddedAhead())
        if isStart { ids.formUnion(try jobsClaimedAhead()) }
        for id in ids.sorted() {
            guard let job = try job(id), job.state.isLive, job.unread == nil, job.clock == .wall
            else { continue }
            try orHold(job) { try $0.follow($1) }
        }
    }

    /// How many jobs a piece looks at, and how many of them it has follow: it takes a few milliseconds.
    static let clockPiece = (looks: 500, jobs: zonePiece)

    /// The same for a piece of all jobs, those after `cursor`, whose next dates a clock may have found that was ahead,
    /// though no row says so: they were added, or got another schedule, while it was.
    ///
    /// Jobs with a claim are left to whoever knows whether its fire has begun. Those that have ended keep their ends, even if
    /// these lie ahead: where it is the clock of now that is wrong, they are right, and a key that was free early would let
    /// its job run twice.
    ///
    /// - Returns: where the next piece begins; nil after the last.
    mutating func followClockBack(after cursor: JobID) throws -> JobID? {
        guard moment.wall >= .earliestOfClocks else { return nil }
        let (ids, next) = try jobs.maybeAhead(
            of: moment.wall,
            after: cursor,
            limit: Self.clockPiece.looks
        )
        let piece = ids.prefix(Self.clockPiece.jobs)
        for id in piece {
            guard let job = try job(id), job.unread == nil else { continue }
            try orHold(job) { try $0.follow($1) }
        }
        return piece.count < ids.count ? piece.last : next
    }

    /// Has a job that had a claim follow a clock that was set back, where its date may be one of before that.
    private mutating func goBackIfChanged(_ job: inout StoredJob) throws {
        guard job.state.isLive, job.clock == .wall, job.claim == nil,
            job.definitionRevision > 1 || job.addedAt > moment.wall,
            moment.wall >= .earliestOfClocks
        else { return }
        _ = try goBack(&job)
    }

    /// Has a job that goes on after a hold follow a clock that was set back meanwhile: a job that cannot be read does not.
    ///
    /// Its claim, if it has kept one, is of a fire that has not begun; else whoever records that fire moves the job on.
    mutating func goBackIfReleased(_ job: inout StoredJob) throws {
        guard job.state.isLive, job.clock == .wall, moment.wall >= .earliestOfClocks,
            try job.claim.map({ try fires.knownState(of: $0.fire) == .claimed }) ?? true
        else { return }
        _ = try goBack(&job)
    }

    /// Jobs of `@reboot` that are due since the start of the machine are due now, whatever the clock said then.
    private mutating func followBootBack() throws {
        for id in try jobs.bootIDs() {
            guard var job = try job(id), job.state == .scheduled, job.unread == nil,
                let date = job.fireDate,
                date > moment.wall
            else { continue }
            try deleteClaim(of: &job)
            if try row(of: job, covering: date) == nil {
                job.fireDate = moment.wall
            } else {
                try advance(&job, past: date)
            }
            try resolveAndPut(job)
        }
    }

    /// The jobs that were added while the clock was ahead of now: the newest ones, down to the first that was
    /// added before now.
    private func jobsAddedAhead() throws -> [JobID] {
        var ids: [JobID] = []
        var last = JobID(rawValue: .max)
        while let job = try jobs.added(before: last), job.addedAt > moment.wall {
            ids.append(job.id)
            last = job.id
        }
        return ids
    }

    /// The jobs that have got another schedule, and whose next date is claimed and still to come.
    private func jobsClaimedAhead() throws -> Set<JobID> {
        var ids: Set<JobID> = []
        for (fire, id) in try fires.open() {
            guard let job = try job(id), job.claim?.fire == fire, job.unread == nil,
                job.definitionRevision > 1, job.fireDate.map({ $0 > moment.wall }) ?? false
            else { continue }
            ids.insert(id)
        }
        return ids
    }

    private mutating func follow(_ job: StoredJob) throws {
        var job = job
        if try goBack(&job) { try resolveAndPut(job) }
    }

    /// Gives a wall job whose date was found by a clock that was ahead the date that comes next by now.
    ///
    /// - Returns: whether it has another date; then it has no claim, and `put` writes it.
    mutating func goBack(_ job: inout StoredJob) throws -> Bool {
        // A start of the machine has no other date, and a moved date stays where its user put it.
        if case .reboot = job.schedule { return false }
        guard job.movedFrom == nil else { return false }
        let moved = try forgetDatesAhead(of: job)
        var date = job.schedule.nextFireDate(after: moment.wall)
        // A date that fired, or that its user dropped, has its row.
        while let taken = try date.flatMap({ try row(of: job, covering: $0) }) {
            date = job.schedule.nextFireDate(after: taken.last)
        }
        guard let next = moved ?? date, job.fireDate.map({ next < $0 }) ?? true else {
            return false
        }
        try deleteClaim(of: &job)
        job.fireDate = next
        // The next date is the one its user moved, which stands for the schedule's dates up to it.
        if let moved {
            let isBehind = date.map { $0 < moved } ?? false
            job.movedFrom = try isBehind ? date : origin(of: moved, job, before: date)
        }
        return true
    }

    /// The schedule's date that was moved to `date`, by the row that it left; nil if that row is gone.
    ///
    /// `next`: no date of the job from here on has a row.
    private func origin(of date: Timestamp, _ job: StoredJob, before next: Timestamp?) throws
        -> Timestamp?
    {
        try fires.movedDate(to: date, before: next ?? .distantFuture, job.id)
    }

    /// Removes the rows of skipped dates that are to come again.
    ///
    /// - Returns: the first of them that its user had moved, and that is no date of the schedule.
    private func forgetDatesAhead(of job: StoredJob) throws -> Timestamp? {
        let now = moment.wall
        var moved: Timestamp?
        for row in try fires.skippedAhead(of: now, job.id) {
            if row.first > now, moved == nil, !job.isOfSchedule(row.first) { moved = row.first }
            try cut(row.id, from: row.first, through: now, of: job)
        }
        return moved
    }
}

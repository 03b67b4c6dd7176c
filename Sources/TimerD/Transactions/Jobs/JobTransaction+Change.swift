// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

extension JobTransaction {
    /// Applies `change` to each job of `selection`, all or none.
    ///
    /// Jobs that do not fit into the reply are not kept in memory with all their members.
    ///
    /// `kill`: an invalidation that also takes tasks from their workers; `busy`: the jobs of which a fire is in progress;
    /// `ending`: the runs that end with their jobs.
    /// - Throws: `ControlError` `notFound` or `conflict`, and what the database throws.
    mutating func change(
        _ selection: JobSelection,
        _ change: JobChange,
        caller: Caller,
        kill: Bool = false,
        busy: Set<JobID> = [],
        ending: [JobID: [RunID]] = [:]
    ) throws -> ChangedJobs {
        let first = outcome.jobs.count
        let ids =
            try idsInMaintenance(selection, change, caller: caller)
            ?? resolve(selection, for: change, kill: kill, busy: busy, caller: caller)
        try requireFewDates(change, of: ids.count)
        var changed = ChangedJobs()
        changed.told = try apply(change, to: ids, caller: caller)
        changed.jobs = Array(outcome.jobs[first...])
        if kill {
            try revokeTasks(of: ids)
            // Durable with the answer: what a restart finds of them is not tried again, not even after an undo.
            let ids = ending.isEmpty ? [] : Set(ids)
            for (job, ending) in ending where ids.contains(job) {
                for run in ending { try runs.markStopped(run, .invalidate) }
            }
        }
        return changed
    }

    /// Refuses to drop more dates in one write than it has time for, before any job is read.
    private func requireFewDates(_ change: JobChange, of jobs: Int) throws(ControlError) {
        guard case .skip(let count, _) = change, count > 1, jobs * count > Limits.datesSkipped
        else { return }
        throw ControlError(
            .limitReached,
            "\(count) dates of each of \(jobs) jobs are \(jobs * count), at most \(Limits.datesSkipped) are dropped"
                + " at once; accepted is a smaller 'count', or fewer jobs"
        )
    }

    /// Ends jobs if no timer is armed for any of them and nothing of them is in progress; else does nothing.
    ///
    /// The scheduler has been told of each claim, open fire and tie, and of nothing else.
    /// - Returns: nil where nothing was done.
    mutating func invalidateIdle(_ ids: [JobID], caller: Caller) throws -> ChangedJobs? {
        let owner = try Queries(database).id(of: caller.onlyOwner)
        var idle: [StoredJob] = []
        idle.reserveCapacity(ids.count)
        for id in ids {
            guard let job = try jobToChange(id, of: owner) else {
                throw try missing(ids, of: owner)
            }
            guard job.state.isLive, job.claim == nil, !job.isHeld, job.unread == nil,
                !job.definition.isTied, try !fires.hasOpen(id)
            else { return nil }
            idle.append(job)
        }
        let room = PageRoom()
        let told = try idle.count { try apply(.invalidate, to: $0, caller, in: room) }
        return ChangedJobs(jobs: outcome.jobs, told: told)
    }

    /// Returns how many of the jobs fit into the reply.
    mutating func apply(
        _ change: JobChange,
        to ids: [JobID],
        caller: Caller
    ) throws -> Int {
        let room = PageRoom()
        let owner = try Queries(database).id(of: caller.onlyOwner)
        outcome.jobs.reserveCapacity(outcome.jobs.count + ids.count)
        return try ids.count { id in
            guard let job = try jobToChange(id, of: owner) else {
                throw try missing(ids, of: owner)
            }
            return try apply(change, to: job, caller, in: room)
        }
    }

    /// The refusal that names those of `ids` that are not there.
    private mutating func missing(_ ids: [JobID], of owner: OwnerID?) throws -> ControlError {
        .noJobs(try ids.filter { try jobToChange($0, of: owner) == nil })
    }

    /// Returns whether the job fits into the reply.
    private mutating func apply(
        _ change: JobChange,
        to job: StoredJob,
        _ caller: Caller,
        in room: PageRoom
    ) throws -> Bool {
        try apply(change, to: job, caller)
        // Taken out of the list while it is changed: else each job would copy the whole list.
        guard var changed = outcome.jobs.popLast() else { return false }
        // The reply shows userInfo, and the event of a claimed fire tells it.
        if !room.isFull || changed.claim != nil { try readUserInfo(of: &changed) }
        let isShown = room.takes(job: changed)
        if !isShown { changed.shedWords() }
        outcome.jobs.append(changed)
        return isShown
    }

    private mutating func apply(_ change: JobChange, to job: StoredJob, _ caller: Caller) throws {
        var job = job
        asker = caller.owner
        switch (change, job.state) {
        case (.invalidate, .finished) where try fires.hasOpen(job.id):
            // Its last fire is not over: what is still to begin of it is dropped.
            try endFinished(&job)
            try put(job)
        case (.invalidate, .finished), (.invalidate, .invalidated):
            outcome.jobs.append(job)
        case (.restore, _) where job.state.isLive:
            outcome.jobs.append(try withClaimsAhead(job))
        case (.restore, _): try restore(job)
        case (.invalidate, _):
            try invalidate(job, by: caller)
        case (_, .finished), (_, .invalidated):
            throw ControlError.notLive(job)
        case (.setFireDate, _) where job.isHeld, (.skip, _) where job.isHeld:
            try requireNotHeld(job)
        case (.setFireDate(let date, let from), _):
            if let from { try requireNotMoved(job, from: from) }
            try releaseClaim(of: &job)
            try move(&job, to: moment.date(ofWall: date, on: job.clock))
        case (.pause, .paused), (.resume, .scheduled), (.beginMaintenance, .paused),
            (.endMaintenance, .scheduled):
            // Who pauses it means it to stay so, whatever its definition says of a pause later.
            if case .pause = change {
                try leaveMaintenance(&job)
                try forgetStatedPause(of: &job)
            }
            outcome.jobs.append(try withClaimsAhead(job))
        case (.pause, _), (.beginMaintenance, _):
            if case .beginMaintenance = change { try enterMaintenance(&job) }
            try pause(job)
        case (.resume, _), (.endMaintenance, _):
            try resume(job)
        case (.skip, .paused):
            throw ControlError(
                .conflict,
                "job \(job.id) is paused: its next date is not known before it goes on; resume it first"
            )
        case (.skip(let count, let from), _):
            if let from { try requireNotMoved(job, from: from) }
            try releaseClaim(of: &job)
            try drop(count, of: &job)
            try resolveAndPut(job)
        }
    }

    /// Ends a live job for good, in a way that can be undone.
    private mutating func invalidate(_ live: StoredJob, by caller: Caller) throws {
        var job = live
        if job.unread == nil {
            try releaseClaim(of: &job)
        } else {
            try closeOpenFires(of: job)
            job.claim = nil
        }
        try recordUnfired(&job)
        try keepForUndo(&job, by: caller)
        try end(&job, .invalidated, .invalidated)
        try put(job)
    }

    private mutating func pause(_ scheduled: StoredJob) throws {
        var job = scheduled
        try forgetStatedPause(of: &job)
        try releaseClaim(of: &job)
        count(leaving: job.state, entering: .paused)
        job.state = .paused
        try enqueue(.jobPaused, job)
        try put(job)
    }

    /// Lets a paused job go on; its dates that passed meanwhile have not fired because it was paused.
    private mutating func resume(_ paused: StoredJob) throws {
        var job = paused
        try leaveMaintenance(&job)
        try forgetStatedPause(of: &job)
        count(leaving: job.state, entering: .scheduled)
        job.state = .scheduled
        _ = try enqueue(.jobResumed, job) {
            try $0.attributing(.paused) { try $0.resolveAndPut(job) }
        }
    }

    /// Refuses a job that has another next date than whoever moves or drops it has seen.
    private func requireNotMoved(_ job: StoredJob, from: Timestamp) throws {
        let date = job.wallFireDate(at: moment)
        // What a clock of elapsed time shows as a date follows the wall clock's small corrections.
        let isSame =
            job.clock == .wall
            ? date == from : date.map { abs($0.microseconds - from.microseconds) < 1_000_000 }
        guard isSame != true else { return }
        throw ControlError(
            .conflict,
            "job \(job.id) fires next at '\(date?.rfc3339 ?? "no date")', not at '\(from.rfc3339)': it was moved or "
                + "skipped, or has fired since"
        )
    }

    /// Moves the whole grid of a one-shot or interval, and the next fire alone of cron and calendar.
    private mutating func move(_ job: inout StoredJob, to date: Timestamp) throws {
        let isBack = try bringBack(date, of: job)
        if let until = job.policy.until, moment.wallDate(date, on: job.clock) > until {
            throw ControlError(
                .badSchedule,
                "the date '\(moment.wallDate(date, on: job.clock).rfc3339)' is after the job's until '\(until.rfc3339)'"
            )
        }
        switch job.schedule {
        case .once, .every:
            // The dates that have passed belong to the old grid.
            if !job.isOneShot { try recordUnfired(&job, .moved, before: date) }
            job.schedule = job.schedule.movingGrid(to: date)
        case .cron, .calendar:
            let from = job.movedFrom ?? job.fireDate
            // It stands for those that it passes; those behind one that has come back come as well.
            if isBack, let from, from > date {
                job.movedFrom = try origin(ofDropped: date, job)
            } else {
                job.movedFrom = from == date ? nil : from
            }
        case .reboot:
            throw ControlError(
                .conflict,
                "job \(job.id) fires when the machine starts; that cannot be moved"
            )
        }
        job.fireDate = date
        let wallDate = moment.wallDate(date, on: job.clock)
        try enqueue(.jobRescheduled, job) { $0.fireDate = wallDate }
        try resolveAndPut(job)
    }

    /// Drops the next `count` dates, or as many as there are; their row says why.
    private mutating func drop(_ count: Int, of job: inout StoredJob) throws {
        guard job.fireDate != nil else {
            throw ControlError(
                .conflict,
                "job \(job.id) fires when the machine starts; it has no date to skip"
            )
        }
        // A date that may have been told before a crash is told again: it cannot be dropped any more.
        try passTaken(&job)
        guard let first = job.fireDate else {
            throw ControlError(.conflict, "job \(job.id) has no further date to skip")
        }
        let until = job.policy.until.map { moment.date(ofWall: $0, on: job.clock) }
        let (last, dropped) = try lastFree(
            count,
            of: job,
            from: first,
            through: until ?? .distantFuture
        )
        let dates = MisfirePolicy.SkippedDates(
            first: first,
            last: last,
            count: dropped,
            reason: .skip
        )
        try skip(dates, of: &job)
        if job.isOneShot {
            try end(&job, .finished, .skipped)
        } else {
            try advance(&job, past: last, endingAs: .skipped)
            try passTaken(&job)
        }
    }

    func requireNotHeld(_ job: StoredJob) throws {
        guard let reason = job.heldReason else { return }
        throw ControlError(.conflict, "job \(job.id) is held: \(reason)")
    }

    /// Stores why passed dates of a job that is about to end, or to have others, did not fire: `reason`, unless it
    /// was held or paused.
    ///
    /// `end`: from when on they stay as they are.
    mutating func recordUnfired(
        _ job: inout StoredJob,
        _ reason: FireReason = .invalidated,
        before end: Timestamp = .distantFuture
    ) throws {
        let now = min(moment.reading(of: job.clock), end - TimeSpan(microseconds: 1))
        guard job.claim == nil, let first = job.fireDate, first <= now else {
            guard let from = job.movedFrom, from <= now else { return }
            try recordMove(of: &job, through: min(now, job.fireDate ?? now))
            // The date that it was moved to is still to come, if the job is restored.
            job.movedFrom = from
            return
        }
        let passed = job.dates.passed(from: first, through: now, newest: 1)
        // A start of the machine that a pause keeps from firing has its row already.
        let isPaused = if case .reboot = job.schedule { false } else { job.state == .paused }
        let dates = MisfirePolicy.SkippedDates(
            first: first,
            last: passed.last,
            count: passed.count,
            reason: job.isHeld ? .held : isPaused ? .paused : reason
        )
        try skip(dates, of: &job)
        if let from = job.movedFrom, from <= now {
            try recordMove(of: &job, through: first)
            // The date that it was moved to may fire yet, if the job is restored.
            job.movedFrom = from
        }
    }

    /// Releases the claim of the job's next date, and the run that was made ready for it.
    ///
    /// - Returns: whether its date has had its fire; see `deleteClaim`.
    @discardableResult
    mutating func releaseClaim(of job: inout StoredJob) throws -> Bool {
        guard let claim = job.claim else { return false }
        let state = try fires.knownState(of: claim.fire)
        // A claim in state `running` was made ready ahead of its date; only the scheduler knows whether its
        // command has been started since.
        guard state == .claimed || terms.unstarted.contains(claim.fire) else { return false }
        return try deleteClaim(of: &job)
    }
}

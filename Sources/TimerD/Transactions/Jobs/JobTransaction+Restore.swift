// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// The undo of an invalidation: the job lives again as what it was, with its id and its history.
extension JobTransaction {
    /// Has jobs that a request has ended live again, all or none; those that live stay as they are.
    ///
    /// Of dates that have passed meanwhile the misfire rule decides, as after a pause; what was dropped of a fire that
    /// was in progress stays dropped.
    ///
    /// `selection`: ids, or the name of a live or ended job. `limit` is as for `add`.
    /// - Throws: `ControlError` `notFound`, `conflict`, `nameTaken` or `limitReached`, and what the database
    ///   throws.
    mutating func restore(_ selection: JobSelection, limit: Int?, caller: Caller) throws
        -> ChangedJobs
    {
        let ids = try idsToRestore(selection, caller)
        // A job's zone may have got other rules since it ended.
        try lookAtZones()
        let first = outcome.jobs.count
        var changed = ChangedJobs()
        changed.told = try apply(.restore, to: ids, caller: caller)
        changed.jobs = Array(outcome.jobs[first...])
        try requireWithin(limit, ownersOf: changed.jobs)
        return changed
    }

    /// How long after it an invalidation can be undone.
    static let undoable = TimeSpan.seconds(86_400)

    /// Stores what `restore` needs of a job that is about to be ended.
    func keepForUndo(_ job: inout StoredJob, by caller: Caller) throws {
        job.endedBy = caller.uid
        try jobs.keepForUndo(
            job.id,
            by: caller.uid,
            JobStore.Standing(
                isPaused: job.state == .paused && !job.isInMaintenance,
                fireDate: job.fireDate,
                movedFrom: job.movedFrom
            )
        )
    }

    private func idsToRestore(_ selection: JobSelection, _ caller: Caller) throws -> [JobID] {
        switch selection {
        case .ids(let ids): return ids
        case .name(let name):
            let own = try owners.id(of: caller.owner)
            guard let id = try jobs.newestID(named: name, owner: own) else {
                throw ControlError.noKeptJob(named: name, caller)
            }
            return [id]
        case .tag, .owner:
            throw ControlError(
                .invalidParams,
                "ended jobs are restored by 'id', 'ids' or 'name', or without any of them"
            )
        }
    }

    /// Has an ended job live again.
    mutating func restore(_ ended: StoredJob) throws {
        var job = ended
        let standing = try standing(of: job)
        // Of a database of one host that was adopted.
        if case .reboot = job.schedule {
            try jobs.requireOneMachine("'@reboot', the schedule of job \(job.id),")
        }
        if let name = job.definition.name, let holder = try jobs.id(named: name, owner: job.ownerID)
        {
            throw ControlError(
                .nameTaken,
                "job \(holder) has the name '\(name)' now, so job \(job.id) cannot have it back; "
                    + "'timerctl rename \(holder) NAME' or 'timerctl invalidate \(holder)' makes room"
            )
        }
        try requireFree(job.definition.key, for: job)
        // It was none of those that are counted, and may become a task.
        try requireQueue(job.policy.queue, of: job, hadOne: false)
        let isInMaintenance = try owners.maintenance(of: job.ownerID) != nil && !standing.isPaused
        let state: Job.State = standing.isPaused || isInMaintenance ? .paused : .scheduled
        count(leaving: nil, entering: state)
        countLive(1, of: job.ownerID)
        // A start that finds unreadable fires of an ended job holds it, and does not count it among the held ones.
        if job.held != nil { try jobs.countHeld(1) }
        job.state = state
        (job.fireDate, job.movedFrom) = dates(of: job, as: standing)
        (job.endedAt, job.endReason, job.endedBy) = (nil, nil, nil)
        if let name = job.definition.name { try jobs.takeName(name, of: job) }
        if let key = job.definition.key { try jobs.keep(key, of: job.id, owner: job.ownerID) }
        try jobs.forgetEnd(of: job.id)
        if isInMaintenance { try enterMaintenance(&job) } else { try leaveMaintenance(&job) }
        // The clock may have been set back since its end.
        if job.clock == .wall, moment.wall >= .earliestOfClocks { _ = try goBack(&job) }
        // Dates that had come were skipped by the end alone: their rows go, and the misfire rule decides about them now, or
        // at the resume. A date that has fired keeps its row.
        if let date = standing.fireDate {
            // The row of a machine's start that a pause kept from firing is of that start, not of the end: it stays.
            let isOfBoot = if case .reboot = job.schedule { true } else { false }
            try fires.deleteUnfired(of: job.id, from: date, keepsPaused: isOfBoot)
            // It is due since the machine's start, also if the clock was ahead then.
            if isOfBoot, try row(of: job, covering: date) == nil {
                job.fireDate = min(date, moment.wall)
            }
        }
        try passTaken(&job)
        _ = try enqueue(.jobRestored, job) { [job] transaction in
            try transaction.goOn(restored: job)
        }
    }

    /// Has a job that lives again go on with the dates that it has now.
    private mutating func goOn(restored: StoredJob) throws -> StoredJob {
        var job = restored
        // Its zone may have got other rules since its end: its dates and their rows go over to them, as those of a live job
        // did.
        let isOverByRules = try followRules(&job)
        try passTaken(&job)
        guard job.state.isLive else {
            throw ControlError(
                .conflict,
                "job \(job.id) has no date after its invalidation\(copyAdvice(job))"
            )
        }
        return try attributing(isOverByRules ? .zoneChanged : .invalidated) {
            try $0.resolveAndPut(job)
        }
    }

    /// Whether an ended job may live again, as far as its end says.
    func mayBeRestored(_ job: StoredJob) throws -> Bool {
        guard job.state == .invalidated, job.endReason == .invalidated, let endedAt = job.endedAt,
            moment.wall - endedAt <= Self.undoable
        else { return false }
        return try jobs.standingBeforeEnd(of: job.id) != nil
    }

    /// The job before it was ended, if it may live again.
    private func standing(of job: StoredJob) throws -> JobStore.Standing {
        func refusal(_ why: String) -> ControlError {
            ControlError(
                .conflict,
                "job \(job.id) \(why), which cannot be undone\(copyAdvice(job))"
            )
        }
        if let unread = job.unread {
            let how = job.endReason == .replaced ? "was replaced by another, and " : ""
            throw ControlError(
                .conflict,
                "job \(job.id) \(how)cannot come back: \(unread.reason)"
            )
        }
        if let reason = try owners.held(job.ownerID) {
            throw GoneOwner(
                job.owner,
                ControlError(.conflict, "job \(job.id) belongs to \(reason)")
            )
        }
        if job.definition.isTied { throw refusal("ends with a process or a connection") }
        guard job.state == .invalidated, job.endReason == .invalidated,
            let endedAt = job.endedAt, let standing = try jobs.standingBeforeEnd(of: job.id)
        else {
            switch job.endReason {
            case .replaced: throw refusal("was replaced by another")
            case .invalidated: throw refusal("had finished when it was invalidated")
            default: throw refusal("has finished")
            }
        }
        let age = moment.wall - endedAt
        guard age <= Self.undoable else {
            throw refusal("was invalidated more than 24 h ago, at '\(endedAt.rfc3339)'")
        }
        return standing
    }

    /// How to have a job like this one; empty where that would be refused, as of a date that has passed.
    private func copyAdvice(_ job: StoredJob) -> String {
        guard !job.definition.isTied else { return "" }
        do throws(ControlError) {
            let new = try NewJob(job.definition, owner: job.owner, at: moment, zone: .local)
            // 'copy' adds none that would fire at once.
            if new.definition.schedule.at != nil, let date = new.firstFireDate,
                date <= moment.wall
            {
                return ""
            }
        } catch {
            return ""
        }
        return "; 'timerctl copy \(job.id) NAME' adds one like it"
    }

    /// The next date of a job that was ended, and the one that it was moved from.
    private func dates(of job: StoredJob, as standing: JobStore.Standing)
        -> (fireDate: Timestamp?, movedFrom: Timestamp?)
    {
        let endedAt = moment.date(ofWall: job.endedAt ?? moment.wall, on: job.clock)
        // A moved date stays a moved one only together with the date that it was moved from, which may have got a row since.
        if let from = standing.movedFrom { return (standing.fireDate, from) }
        guard let date = standing.fireDate else { return (nil, nil) }
        if case .reboot = job.schedule { return (date, nil) }
        // Its zone's rules of that time may be stored no more, so its date may be none of its schedule.
        let instant = TimeSpan(microseconds: 1)
        guard job.schedule.nextFireDate(after: date - instant) != date else { return (date, nil) }
        return (job.schedule.nextFireDate(after: min(date, endedAt)) ?? date, nil)
    }

    /// Refuses live jobs beyond the limit of an owner who has one.
    private func requireWithin(_ limit: Int?, ownersOf changed: [StoredJob]) throws {
        guard let limit else { return }
        for owner in Set(changed.map(\.ownerID)) {
            let live = try liveJobs(of: owner)
            guard live > limit else { continue }
            throw ControlError(
                .limitReached,
                "with what was ended there would be \(live) live jobs, which is above maxJobsPerUser, \(limit)"
            )
        }
    }
}

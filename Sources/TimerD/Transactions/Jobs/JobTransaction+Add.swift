// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

extension JobTransaction {
    /// Adds `jobs`, in order, and returns them as they stand.
    ///
    /// `limit`: how many live jobs their owner may have; nil for any number. `isDeclared`: see `keptJob`.
    /// - Throws: `ControlError` `nameTaken` or `limitReached`, and what the database throws; then
    ///   none is added.
    mutating func add(
        _ jobs: [NewJob],
        replace: Bool,
        limit: Int?,
        isDeclared: Bool = false
    ) throws -> [StoredJob] {
        guard let owner = jobs.first?.owner else { return [] }
        let ownerID: OwnerID
        (ownerID, isInMaintenance) = try owners.standing(of: owner)
        if let limit, try liveJobs(of: ownerID) + jobs.count > limit {
            let fresh = try fresh(of: jobs, ownerID, isDeclared: isDeclared)
            try requireRoom(for: fresh, of: owner, ownerID, replace: replace, limit: limit)
        }
        try requireQueues(for: jobs, of: ownerID, isDeclared: isDeclared)
        countLive(jobs.count, of: ownerID)
        outcome.jobs.reserveCapacity(outcome.jobs.count + jobs.count)
        let isFew = jobs.count <= ClaimDepth.addedAtOnce
        let depth = try isFew && liveJobs(of: ownerID) <= ClaimDepth.jobs ? ClaimDepth.atAdd : 0
        return try requiringSpace(for: owner, ownerID) { transaction in
            var room = ToldJobs(for: jobs)
            return try jobs.map {
                if let key = $0.definition.key,
                    let kept = try transaction.keptJob(of: key, ownerID, isDeclared: isDeclared)
                {
                    transaction.countLive(-1, of: ownerID)
                    try room.take(kept, of: key)
                    return kept
                }
                if let refusal = $0.refusal { throw refusal }
                return try transaction.add($0, of: ownerID, replace: replace, depth: depth)
            }
        }
    }

    /// Refuses jobs beyond the limit before any of them is stored.
    private func requireRoom(
        for jobs: [NewJob],
        of owner: Owner,
        _ ownerID: OwnerID,
        replace: Bool,
        limit: Int
    ) throws {
        let live = try liveJobs(of: ownerID)
        guard live + jobs.count > limit else { return }
        let replaced =
            try replace
            ? jobs.count {
                try $0.definition.name.map { try self.jobs.id(named: $0, owner: ownerID) } != nil
            }
            : 0
        let more = jobs.count - replaced
        // Who has more than a limit that was lowered still repeats a key, and replaces a job: that is none more.
        guard more > 0, live + more > limit else { return }
        throw ControlError(
            .limitReached,
            "\(owner.words) has \(live) live jobs, with \(more) more it would be "
                + "above maxJobsPerUser, which is \(limit)"
        )
    }

    private mutating func add(
        _ new: NewJob,
        of owner: OwnerID,
        replace: Bool,
        depth: Int
    ) throws -> StoredJob {
        if let name = new.definition.name, let holder = try jobs.id(named: name, owner: owner) {
            guard replace, var old = try job(holder) else {
                throw ControlError(
                    .nameTaken,
                    "job \(holder) has the name '\(name)'; take another, or have it replaced: 'add --replace'"
                )
            }
            try requireHistory(new, inPlaceOf: old)
            let new = try new.unmasked(by: old.unread == nil ? old.definition : nil)
            guard old.unread == nil, !old.definition.isTied, !new.definition.isTied else {
                return try self.replace(old, with: new)
            }
            countLive(-1, of: owner)
            let isPaused = new.definition.paused == true
            if isPaused { try leaveMaintenance(&old) }
            if isInMaintenance, !isPaused { try enterMaintenance(&old) }
            try noteChange(of: old, to: new.policy.notices)
            return try redate(old, to: new, isPaused: isPaused || isInMaintenance)
        }
        try requireHistory(new, inPlaceOf: nil)
        return try insert(try new.unmasked(by: nil), of: owner, depth: depth)
    }

    /// Ends `old` and puts the new job in its place.
    mutating func replace(_ old: StoredJob, with new: NewJob) throws -> StoredJob {
        var (old, new) = (old, new)
        try releaseClaim(of: &old)
        // The new job's first date was computed before this write; the old job may have fired on it since.
        let now = moment.reading(of: new.clock)
        if let first = new.firstFireDate, first <= now,
            try fires.hasFired(old.id, since: moment.wallDate(first, on: new.clock)),
            let next = new.schedule.nextFireDate(after: now)
        {
            new.firstFireDate = next
        }
        try recordUnfired(&old)
        try end(&old, .invalidated, .replaced)
        try put(old)
        return try insert(new, of: old.ownerID)
    }

    /// `depth`: how many dates after the first are claimed at once, for an event that fires often.
    private mutating func insert(_ new: NewJob, of owner: OwnerID, depth: Int = 0) throws
        -> StoredJob
    {
        let isPaused = new.definition.paused == true
        let state: Job.State = isPaused || isInMaintenance ? .paused : .scheduled
        let fireDate = new.firstFireDate(at: moment)
        if let rules = new.rules { try remember(rules) }
        let number = lastAdded.map { JobID(rawValue: $0.rawValue + 1) }
        let id = try jobs.insert(new, state, fireDate: fireDate, of: owner, number: number)
        lastAdded = id
        if new.definition.isTied { try jobs.insertTarget(of: id, new.process) }
        try jobs.insertDefinition(new, of: id, owner: owner, at: moment.wall)
        count(leaving: nil, entering: state)
        countBytes(of: new, owner: owner)
        if let key = new.definition.key { try jobs.keep(key, of: id, owner: owner) }
        var job = StoredJob(
            id: id,
            owner: new.owner,
            ownerID: owner,
            state: state,
            clock: new.clock,
            schedule: new.schedule,
            fireDate: fireDate,
            movedFrom: nil,
            claim: nil,
            fires: 0,
            rowsSinceTrim: 0,
            addedAt: moment.wall,
            endedAt: nil,
            endReason: nil,
            definition: new.definition,
            policy: new.policy,
            rules: new.rules?.id
        )
        if isInMaintenance, !isPaused { try enterMaintenance(&job) }
        let date = job.wallFireDate(at: moment)
        try enqueue(.jobAdded, job) { $0.fireDate = date }
        // An older date is for the misfire policy, and the end of a job that is tied to something for the scheduler.
        if new.isTaskOnceDue, state == .scheduled, let due = job.dueDate,
            due <= moment.reading(of: job.clock)
        {
            return try resolveAndBeginTask(job)
        }
        guard state == .scheduled, let due = job.dueDate,
            due < moment.date(ofElapsed: terms.horizons[job.ownerID], on: job.clock)
        else {
            // With jitter the due date depends on the job's id, which the insert did not know.
            if job.dueDate == job.fireDate { outcome.jobs.append(job) } else { try put(job) }
            return job
        }
        return try resolveAndPut(job, depth: depth, most: depth)
    }
}

extension [StoredJob] {
    /// Of jobs that one request has added, those that were there before it, by their key; nil for none.
    ///
    /// One that it has made itself, and whose key it says again, was not.
    var existing: [JobID]? {
        guard contains(where: \.isExisting) else { return nil }
        let made = Set(lazy.filter { !$0.isExisting }.map(\.id))
        let ids = filter { $0.isExisting && !made.contains($0.id) }.map(\.id)
        return ids.isEmpty ? nil : ids
    }
}

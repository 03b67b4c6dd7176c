// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The jobs that the window covers, indexed by name, tag and owner.
///
/// It alone changes the jobs and their indices, so the two cannot differ. The cost of a change does not
/// depend on how many jobs there are.
struct ArmedJobs: Sendable {
    private var jobs: [JobID: ArmedJob] = [:]
    private var byWord = OwnedIndex()
    private var byOwner: [OwnerID: Set<JobID>] = [:]
    /// How many of them have a timer in the loop.
    private(set) var timers = 0
    /// How many fires are claimed for them.
    private(set) var claims = 0

    var count: Int { jobs.count }

    /// How many jobs are armed of each user who has any.
    var counts: [OwnerID: Int] { byOwner.mapValues(\.count) }

    func count(of owner: OwnerID) -> Int { byOwner[owner]?.count ?? 0 }

    func ids(of owner: OwnerID) -> Set<JobID> { byOwner[owner] ?? [] }

    /// All of them: for what concerns all, such as a step of the clock.
    var all: some Sequence<ArmedJob> { jobs.values }

    subscript(id: JobID) -> ArmedJob? { jobs[id] }

    /// The armed jobs that `selection` of `caller` names.
    ///
    /// - Complexity: O(jobs named), not of all armed jobs; for a whole user also O(users with armed jobs).
    func ids(of selection: JobSelection, caller: Caller) -> [JobID] {
        if case .owner(let words) = selection {
            return byOwner.values.filter { own in
                // All jobs of one set have the same owner, so the first answers for all.
                guard let job = own.first.flatMap({ jobs[$0]?.job }) else { return false }
                return job.owner.isMeant(by: words) && caller.owns(job)
            }.flatMap(\.self)
        }
        guard case .ids(let ids) = selection else {
            return selection.word(of: caller).map { Array(byWord[$0]) } ?? []
        }
        return ids.filter { jobs[$0].map { caller.owns($0.job) } ?? false }
    }

    /// The fires of the jobs that `selection` of `caller` names whose run is stored, or about to be, and not
    /// started.
    func unstartedFires(of selection: JobSelection, caller: Caller) -> [FireID] {
        ids(of: selection, caller: caller).compactMap { jobs[$0]?.unstartedFire }
    }

    /// Inserts a job's entry in place of the one before.
    mutating func insert(_ entry: ArmedJob) {
        remove(entry.job.id)
        jobs[entry.job.id] = entry
        if let name = entry.job.ownedName { byWord.insert(entry.job.id, as: name) }
        for tag in entry.job.ownedTags { byWord.insert(entry.job.id, as: tag) }
        byOwner[entry.job.ownerID, default: []].insert(entry.job.id)
        if entry.timer != nil { timers += 1 }
        claims += entry.job.claims
    }

    /// Moves a job, whose timer has been taken out, on to its next fire; its name and tags are the same.
    mutating func moveOn(to job: StoredJob) {
        guard let before = jobs[job.id] else { return }
        claims += job.claims - before.job.claims
        jobs[job.id] = ArmedJob(job: job, since: nil)
    }

    /// Replaces a job whose next fire, name and tags are the same; its timer stays.
    mutating func update(_ job: StoredJob) {
        guard let before = jobs[job.id] else { return }
        claims += job.claims - before.job.claims
        var entry = ArmedJob(job: job, since: before)
        entry.timer = before.timer
        jobs[job.id] = entry
    }

    /// Removes a job; does not take its timer out of the loop.
    @discardableResult
    mutating func remove(_ id: JobID) -> ArmedJob? {
        guard let entry = jobs.removeValue(forKey: id) else { return nil }
        if let name = entry.job.ownedName { byWord.remove(id, as: name) }
        for tag in entry.job.ownedTags { byWord.remove(id, as: tag) }
        byOwner[entry.job.ownerID]?.remove(id)
        if byOwner[entry.job.ownerID]?.isEmpty == true { byOwner[entry.job.ownerID] = nil }
        if entry.timer != nil { timers -= 1 }
        claims -= entry.job.claims
        return entry
    }

    mutating func removeAll() { self = ArmedJobs() }

    /// Notes a job's timer, and takes the one before out of the loop; does nothing if the job is not armed.
    mutating func setTimer(_ timer: any ArmedTimer, of id: JobID) {
        guard let before = jobs[id]?.timer else {
            if jobs[id] != nil { timers += 1 }
            jobs[id]?.timer = timer
            return
        }
        before.invalidate()
        jobs[id]?.timer = timer
    }

    /// Takes a job's timer out of the loop.
    mutating func stopTimer(of id: JobID) {
        guard let timer = jobs[id]?.timer else { return }
        timer.invalidate()
        jobs[id]?.timer = nil
        timers -= 1
    }

    /// Notes that the job's fire has had to wait for its turn.
    mutating func noteWait(of id: JobID) { jobs[id]?.hasWaited = true }

    mutating func setStage(_ stage: ArmedJob.Stage, of id: JobID) { jobs[id]?.stage = stage }
}

extension StoredJob {
    /// How many fires are claimed for it.
    fileprivate var claims: Int { (claim == nil ? 0 : 1) + (ahead?.count ?? 0) }
}

// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The jobs that the window covers, with what finds some of them without a look at the others; pure.
///
/// It alone changes the jobs and what they are found by, so the two cannot differ. Each change costs
/// the same however many there are.
struct ArmedJobs: Sendable {
    private var jobs: [JobID: ArmedJob] = [:]
    private var byWord = OwnedIndex()
    private var byOwner: [OwnerID: Set<JobID>] = [:]
    /// How many of them have a timer in the loop.
    private(set) var timers = 0
    /// How many fires are claimed for them.
    private(set) var claims = 0

    var count: Int { jobs.count }

    /// How many of one user are armed, for those who have any.
    var counts: [OwnerID: Int] { byOwner.mapValues(\.count) }

    func count(of owner: OwnerID) -> Int { byOwner[owner]?.count ?? 0 }

    func ids(of owner: OwnerID) -> Set<JobID> { byOwner[owner] ?? [] }

    /// All of them: for what concerns all, such as a step of the clock.
    var all: some Sequence<ArmedJob> { jobs.values }

    subscript(id: JobID) -> ArmedJob? { jobs[id] }

    /// Those that `selection` of `caller` names.
    ///
    /// - Complexity: that of the answer, whatever is armed; for a whole user, also that of how many users
    ///   have something armed.
    func ids(of selection: JobSelection, caller: Caller) -> [JobID] {
        if case .owner(let words) = selection {
            return byOwner.values.filter { own in
                // One stands for all: they have the same owner.
                guard let job = own.first.flatMap({ jobs[$0]?.job }) else { return false }
                return job.owner.isMeant(by: words) && caller.owns(job)
            }.flatMap(\.self)
        }
        guard case .ids(let ids) = selection else {
            return selection.word(of: caller).map { Array(byWord[$0]) } ?? []
        }
        return ids.filter { jobs[$0].map { caller.owns($0.job) } ?? false }
    }

    /// Of what `selection` of `caller` names, the fires whose run is stored and not started.
    func unstartedFires(of selection: JobSelection, caller: Caller) -> [FireID] {
        ids(of: selection, caller: caller).compactMap { jobs[$0]?.unstartedFire }
    }

    /// Puts a job in the place of what was armed of it.
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

    /// Takes over what else the store says of a job whose next fire, name and tags are the same; its timer
    /// stays.
    mutating func update(_ job: StoredJob) {
        guard let before = jobs[job.id] else { return }
        claims += job.claims - before.job.claims
        var entry = ArmedJob(job: job, since: before)
        entry.timer = before.timer
        jobs[job.id] = entry
    }

    /// Takes a job out; its timer stays as it is.
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

    /// Notes that a job's timer is in the loop; nothing where the job is not armed.
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

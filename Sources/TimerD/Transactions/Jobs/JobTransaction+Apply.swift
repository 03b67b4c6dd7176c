// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What `job.apply` asks for, checked: jobs to end, to change and to add.
struct JobChanges: Sendable {
    var invalidate: [JobID]
    var change: [Change]
    var add: [NewJob]
    /// See `ApplyJobs`.
    var ifRevisions: [JobID: Int64] = [:]
    var ifNoNewer: NewestTagged?
    var addition = Addition.declared
    /// The upload that they come from, which they end; nil for a request of its own.
    var upload: ReadUpload?

    struct Change: Sendable {
        var id: JobID
        var to: NewJob
        /// See `JobRevision`.
        var ifRevision: Int64?
    }

    /// How `add` is added.
    enum Addition: Equatable, Sendable {
        /// As what is to be, by `job.apply`; see `keptJob`.
        case declared
        /// By `job.add`, with its `replace`.
        case new(replace: Bool)
    }

    /// The jobs that exist and are touched.
    var touched: JobSelection { .ids(invalidate + change.map(\.id)) }
    /// The names of those that live jobs are replaced by.
    var replaced: [String] {
        addition == .new(replace: true) ? add.compactMap(\.definition.name) : []
    }
    /// The keys that its jobs are to have of those that it changes; empty where it gives none.
    var keys: [JobID: ByteText?] {
        guard change.contains(where: { $0.to.definition.key != nil }) else { return [:] }
        // Of a job that is there twice, which is refused elsewhere, the last key counts.
        return change.reduce(into: [:]) { keys, change in
            keys.updateValue(change.to.definition.key.map { ByteText($0) }, forKey: change.id)
        }
    }
    /// See `JobDefinition.writeUnits`.
    var writeUnits: Int { invalidate.count + change.map(\.to).writeUnits + add.writeUnits }
    /// See `JobDefinition.mayHaveTasks`.
    var mayConcernTasks: Bool { change.contains { $0.to.definition.mayHaveTasks } }
}

extension [NewJob] {
    /// See `JobDefinition.writeUnits`.
    var writeUnits: Int { reduce(0) { $0 + $1.definition.writeUnits } }
}

/// What became of the jobs of a list of changes, in its order.
struct AppliedChanges: Sendable {
    var invalidated = ChangedJobs()
    var changed: [StoredJob] = []
    var added: [StoredJob] = []
    /// The jobs that have ended because others took their place.
    var replaced: [StoredJob] = []
    /// The tasks that queues still have of jobs of `changed` which are of no queue any more.
    var leftTasks: [QueueKey: LeftTasks] = [:]

    /// How many tasks a queue has, and of which jobs.
    struct LeftTasks: Sendable {
        var count = 0
        var jobs: [JobID] = []
    }

    /// The jobs that have ended, whether that was asked for or others have their place.
    var ended: [StoredJob] { invalidated.jobs + replaced }

    /// The jobs of `added` that were there, found by their key; nil for none.
    var existing: [JobID]? { added.existing }

    /// Adds the tasks that the job leaves in queues.
    mutating func note(_ left: [(queue: String, count: Int)], of job: StoredJob) {
        for (queue, count) in left {
            let key = QueueKey(owner: job.ownerID, name: queue)
            leftTasks[key, default: LeftTasks()].count += count
            leftTasks[key]?.jobs.append(job.id)
        }
    }

    /// How many queues the answer names of those that keep tasks.
    private static let namedQueues = 10

    /// What the answer says of tasks that are left in their queues; nil for none.
    var notes: [String]? {
        guard !leftTasks.isEmpty else { return nil }
        let queues = leftTasks.sorted { $0.key.name < $1.key.name }
        var notes = queues.prefix(Self.namedQueues).map { Self.note(of: $0.key.name, $0.value) }
        let others = queues.count - notes.count
        if others > 0 {
            notes.append(
                others == 1
                    ? "another queue keeps such tasks; 'timerctl queue list' shows it"
                    : "\(others) more queues keep such tasks; 'timerctl queue list' shows them"
            )
        }
        return notes
    }

    private static func note(of queue: String, _ left: LeftTasks) -> String {
        let tasks = left.count == 1 ? "1 task" : "\(left.count) tasks"
        var whose = "\(left.jobs.count) jobs that are of no queue any more"
        if left.jobs.count == 1, let job = left.jobs.first {
            whose = "job \(job), which is of no queue any more"
        }
        // What is proposed can be pasted into a shell.
        let isPlain = queue.utf8.allSatisfy {
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 || "0123456789_.-".utf8.contains($0)
        }
        return "queue '\(queue)' keeps \(tasks) of \(whose); "
            + "'timerctl queue tasks \(isPlain ? queue : "QUEUE")' shows \(left.count == 1 ? "it" : "them")"
    }
}

extension JobTransaction {
    /// Ends, changes and adds jobs, in this order, all or none.
    ///
    /// `limit` is as for `add`.
    /// - Throws: `ControlError` `notFound`, `conflict`, `nameTaken`, `notPermitted` or
    ///   `limitReached`, and what the database throws.
    mutating func apply(
        _ changes: JobChanges,
        limit: Int?,
        caller: Caller
    ) throws -> AppliedChanges {
        var applied = AppliedChanges()
        asker = caller.owner
        if let upload = changes.upload { try take(upload, of: owners.id(of: caller.owner)) }
        if let newest = changes.ifNoNewer { try requireNewest(newest, caller: caller) }
        try requireRevisions(changes.ifRevisions, caller: caller)
        applied.invalidated = try change(.ids(changes.invalidate), .invalidate, caller: caller)
        let own = try owners.id(of: caller.owner)
        let keys = changes.keys
        applied.changed = try requiringSpace(for: caller.owner, own) { transaction in
            try changes.change.map { try transaction.make($0, beside: keys, caller: caller) }
        }
        for job in applied.changed where job.policy.queue == nil {
            applied.note(try tasks.left(of: job.id), of: job)
        }
        applied.added = try add(
            changes.add,
            replace: changes.addition == .new(replace: true),
            limit: limit,
            isDeclared: changes.addition == .declared
        )
        applied.replaced = outcome.replaced
        return applied
    }

    /// Throws if a live job of the caller has the tag and is newer: two clients add what neither has seen of the other.
    private func requireNewest(_ newest: NewestTagged, caller: Caller) throws {
        let newer = try jobs.live(
            tagged: newest.tag,
            owner: owners.id(of: caller.owner),
            newerThan: newest.id ?? JobID(rawValue: 0)
        )
        guard let newer else { return }
        throw ControlError(
            .conflict,
            "job \(newer) with the tag '\(newest.tag)' was added by another request; nothing was "
                + "done, so look at the jobs again and repeat"
        )
    }

    /// Throws if a live job has another revision than it was read with: nobody ends what they have not seen.
    private func requireRevisions(_ revisions: [JobID: Int64], caller: Caller) throws {
        for (id, revision) in revisions.sorted(by: { $0.key < $1.key }) {
            guard let job = try job(id, for: caller) else { throw ControlError.noJob(id) }
            guard !job.state.isLive || job.definitionRevision == revision else {
                throw ControlError.changedMeanwhile(job, since: revision)
            }
        }
    }

    /// Makes the job what `new` says; it keeps its id and its history.
    ///
    /// A job whose schedule stays the same keeps its next date too. `keys` are those of all jobs that are changed with it.
    private mutating func make(
        _ change: JobChanges.Change,
        beside keys: [JobID: ByteText?],
        caller: Caller
    ) throws -> StoredJob {
        let id = change.id
        guard var job = try job(id, for: caller) else { throw ControlError.noJob(id) }
        try requireChangeable(job, to: change.to, caller: caller)
        try requireHistory(change.to, inPlaceOf: job)
        try requireQueue(change.to.policy.queue, of: job, hadOne: job.policy.queue != nil)
        try requireFree(change.to.definition.key, for: job, isDeclared: true, beside: keys)
        if let revision = change.ifRevision, revision != job.definitionRevision {
            throw ControlError.changedMeanwhile(job, since: revision)
        }
        let new = try change.to.unmasked(by: job.unread == nil ? job.definition : nil)
        try noteChange(of: job, to: new.policy.notices)
        let isPaused = try isPaused(&job, as: new)
        // What a job is that cannot be read is not known: nor are its dates.
        guard job.unread == nil else {
            countLive(1, of: job.ownerID)
            // An undo names it, and why it cannot come back.
            try keepForUndo(&job, by: caller)
            return try replace(job, with: new)
        }
        guard job.definition.hasDates(of: new.definition, now: moment.wall, zone: .local) else {
            return try redate(job, to: new, isPaused: isPaused)
        }
        try releaseClaim(of: &job)
        try jobs.updateDefinition(of: job, to: new)
        let (old, was) = (job.definition, job.policy)
        job.definition = new.definition
        job.revision = try EventWords(database).revision(of: id)
        job.definitionRevision += 1
        job.policy = new.policy
        try closeOvertaken(of: &job, was: old)
        return try goOn(as: job, from: was, isPaused: isPaused)
    }

    /// Refuses to keep more runs than are allowed, but where the job before keeps as many: a client states the whole
    /// definition, whatever it changes.
    func requireHistory(_ new: NewJob, inPlaceOf old: StoredJob?) throws {
        guard let refusal = new.historyRefusal else { return }
        guard let old, old.unread == nil, old.policy.keepRuns == new.policy.keepRuns else {
            throw refusal
        }
    }

    /// Whether the job is to be paused as what it is changed to.
    private func isPaused(_ job: inout StoredJob, as new: NewJob) throws -> Bool {
        if let paused = new.definition.paused {
            // A stated pause is the user's own: the end of a maintenance does not end it.
            if paused { try leaveMaintenance(&job) }
            return paused
        }
        guard job.state == .paused, job.definition.paused == true else {
            return job.state == .paused
        }
        // The job was paused because its definition said so, and it says so no more. The owner's maintenance may still pause
        // it.
        let isInMaintenance = try owners.maintenance(of: job.ownerID) != nil
        if isInMaintenance { try enterMaintenance(&job) }
        return isInMaintenance
    }

    /// Removes `paused` from the job's definition, as that pause is over: a later one is not the definition's.
    func forgetStatedPause(of job: inout StoredJob) throws {
        guard job.definition.paused == true else { return }
        job.definition.paused = nil
        try jobs.setDefinition(job.definition, of: job.id)
    }

    /// Tells that a job was changed, which has no claim, and has it go on; by its new options it may be over.
    ///
    /// `old`: its options before. Its tasks move only if its queue has changed, and get another end only if its `until` has.
    mutating func goOn(
        as changed: StoredJob,
        from old: JobPolicy,
        isPaused: Bool
    ) throws -> StoredJob {
        var job = changed
        let date = job.wallFireDate(at: moment)
        try enqueue(.jobChanged, job) { $0.fireDate = date }
        if job.policy.until != old.until { try renewTaskEnds(of: job) }
        if job.policy.queue != old.queue { try moveTasks(of: job) }
        if let count = job.policy.count, job.fires >= count {
            return try finish(&job, .count)
        }
        if let until = job.policy.until, let date, date > until { return try finish(&job, .until) }
        return try setPaused(isPaused, &job)
    }

    private func requireChangeable(_ job: StoredJob, to new: NewJob, caller: Caller) throws {
        guard job.owner == caller.owner else {
            throw ControlError(
                .notPermitted,
                "job \(job.id) belongs to \(job.owner.words), who alone may change it"
            )
        }
        guard job.state.isLive else {
            throw ControlError.notLive(job)
        }
        // Asked without a comparison with its own name: Swift takes one name in two Unicode forms for the same, the database
        // does not.
        if let name = new.definition.name,
            let holder = try jobs.id(named: name, owner: job.ownerID), holder != job.id
        {
            throw ControlError(.nameTaken, "job \(holder) has the name '\(name)'")
        }
        guard !job.definition.isTied else {
            throw ControlError(
                .conflict,
                "job \(job.id) ends with a process or a connection; it cannot be changed"
            )
        }
    }

    private mutating func finish(_ job: inout StoredJob, _ reason: StoredJob.EndReason) throws
        -> StoredJob
    {
        try recordUnfired(&job)
        try end(&job, .finished, reason)
        try put(job)
        return job
    }

    private mutating func setPaused(_ isPaused: Bool, _ job: inout StoredJob) throws -> StoredJob {
        guard isPaused != (job.state == .paused) else { return try resolveAndPut(job) }
        if !isPaused { try leaveMaintenance(&job) }
        let state: Job.State = isPaused ? .paused : .scheduled
        count(leaving: job.state, entering: state)
        job.state = state
        guard !isPaused else {
            try enqueue(.jobPaused, job)
            return try resolveAndPut(job)
        }
        let resumed = job
        return try enqueue(.jobResumed, resumed) {
            try $0.attributing(.paused) { try $0.resolveAndPut(resumed) }
        }
    }
}

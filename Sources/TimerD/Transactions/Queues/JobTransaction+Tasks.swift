// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// Fires that become tasks, and what becomes of these without their worker's word.
extension JobTransaction {
    var tasks: TaskStore { TaskStore(database) }
    var queues: QueueStore { QueueStore(database) }

    /// Records that the date of a job with a queue has come, and moves the job on: a task is ready, or the date is
    /// skipped.
    ///
    /// - Returns: whether there is a task.
    mutating func recordTask(_ job: StoredJob) throws -> Bool {
        guard let claim = job.claim, let queue = job.policy.queue else { return false }
        if let reason = try refusal(of: job) {
            try recordSkipped(job, reason)
            return false
        }
        try makeRoom(for: job)
        let fireDate = job.wallFireDate(at: moment) ?? moment.wall
        let dueBy = job.dueBy(of: claim, at: moment)
        try begin(
            claim.fire,
            of: job,
            queue,
            fireDate: fireDate,
            dueBy: dueBy,
            missed: claim.missed
        )
        try noteBegin(claim.fire, of: job, fireDate: fireDate, dueBy: dueBy, at: moment.wall)
        try moveOn(job, GoingOn())
        return true
    }

    /// Why the job's fire does not become a task; nil if it does.
    private func refusal(of job: StoredJob) throws -> FireReason? {
        if job.policy.run.overlap == .skip, try tasks.busyQueue(of: job.id) != nil {
            return .overlap
        }
        // One that was accepted and fires once becomes a task in any case.
        guard !job.isOneShot, job.owner.uid != 0 else { return nil }
        return try queues.tasks(of: job.ownerID) >= terms.maxTasks ? .overload : nil
    }

    /// Under `replace` the newest task takes the place of those before it.
    private mutating func makeRoom(for job: StoredJob) throws {
        guard job.policy.run.overlap == .replace else { return }
        let live = try tasks.live(of: job.id)
        var room = Self.droppedAtOnce
        try revoke(live.filter { $0.isReserved }.map(\.fire), of: job, .replaced, &room)
        try drop(live.filter { !$0.isReserved }.map(\.fire), of: job, .replaced)
    }

    /// Makes a task of a fire by hand.
    ///
    /// - Throws: `ControlError` `conflict` where the job's overlap refuses it, `limitReached` where a job that repeats
    ///   would give its owner too many.
    mutating func beginByHand(_ fire: FireID, of job: StoredJob, date: Timestamp) throws {
        guard let queue = job.policy.queue else { return }
        if job.policy.run.overlap == .skip, let busy = try tasks.busyQueue(of: job.id) {
            throw ControlError(
                .conflict,
                "a task of job \(job.id) is not over, and its overlap is 'skip'; "
                    + "'timerctl queue tasks \(busy)' shows it"
            )
        }
        // As with its dates: one that fires once was accepted, and becomes a task in any case.
        if !job.isOneShot { try requireTaskRoom(for: job.owner, job.ownerID) }
        try makeRoom(for: job)
        try begin(fire, of: job, queue, fireDate: date, missed: 0, isByHand: true)
    }

    private mutating func begin(
        _ fire: FireID,
        of job: StoredJob,
        _ queue: QueuePolicy,
        fireDate: Timestamp,
        dueBy: Timestamp? = nil,
        missed: Int,
        isByHand: Bool = false
    ) throws {
        try fires.markQueued(fire, at: moment.wall)
        let until = taskEnd(of: job)
        try tasks.insert(fire, of: job, queue, at: moment.elapsed, until: until)
        try enqueueFired(
            fire,
            of: job,
            fireDate: fireDate,
            dueBy: dueBy,
            missed: missed,
            isByHand: isByHand
        )
        outcome.tasks.note(until)
        outcome.tasks.ready.insert(QueueKey(owner: job.ownerID, name: queue.queue))
    }

    // MARK: - Without a worker's word

    /// Drops a task that no worker has: its fire is skipped.
    mutating func drop(_ task: TaskRow, of job: StoredJob, _ reason: FireReason) throws {
        let date = try fires.wallDate(of: task.fire)
        // The reason `withdrawn` shows that a row stands for no date of the schedule, as with commands.
        let kept = try fires.isByHand(task.fire) ? .withdrawn : reason
        try fires.markSkipped(task.fire, kept)
        try tasks.delete(task.fire)
        try enqueue(.fireSkipped, job, kept.rawValue, fire: task.fire) { $0.fireDate = date }
        // Whoever is told of `reason` is told of a task by hand too, though its row has another one.
        if kept != reason { try noteWithdrawn(task.fire, date, of: job, reason) }
    }

    /// Stores that a task is over, however its last attempt has ended.
    mutating func close(_ task: TaskRow) throws {
        try fires.markDone(task.fire)
        try tasks.delete(task.fire)
        noteRoom(in: task.key)
    }

    /// Drops the tasks of an invalidated job that no worker has.
    mutating func dropTasks(of job: StoredJob) throws {
        try drop(tasks.resting(of: job.id), of: job, .invalidated)
    }

    /// Drops tasks of the job: all that no worker has, but for dead ones where they are `replaced`.
    ///
    /// A piece of them goes now. The rest leaves its queue with this write as well; what becomes of their fires is stored and
    /// told behind it.
    private mutating func drop(_ all: [FireID], of job: StoredJob, _ reason: FireReason) throws {
        for fire in all.prefix(Self.droppedAtOnce) {
            if let task = try tasks.task(fire) { try drop(task, of: job, reason) }
        }
        let left = all.dropFirst(Self.droppedAtOnce)
        guard !left.isEmpty else { return }
        try tasks.drop(of: job.id, reason)
        leave(left, of: job)
    }

    /// Takes the tasks of ended jobs away from their workers.
    mutating func revokeTasks(of ended: [JobID]) throws {
        var room = Self.revokedAtOnce
        for id in ended {
            let held = try tasks.live(of: id).filter { $0.isReserved }.map(\.fire)
            guard !held.isEmpty, let job = try jobToChange(id, of: nil) else { continue }
            try revoke(held, of: job, .jobEnded, &room)
        }
    }

    /// How many tasks of all jobs together one write takes from their workers whole; more would hold up others.
    static let revokedAtOnce = 8 * droppedAtOnce

    /// Why workers lose the tasks of a job for good.
    private enum Revocation: String {
        case jobEnded = "its job was ended"
        case replaced = "a newer task of its job has taken its place"
    }

    /// Takes `held` away from their workers for good; these are all tasks of the job that workers have.
    ///
    /// A piece of them goes now, within `room`. The workers of the rest have lost their leases with this write as well; how
    /// the attempts have ended is stored and told behind it.
    private mutating func revoke(
        _ held: [FireID],
        of job: StoredJob,
        _ why: Revocation,
        _ room: inout Int
    ) throws {
        let now = min(Self.droppedAtOnce, room)
        room -= min(now, held.count)
        for fire in held.prefix(now) {
            guard let task = try tasks.task(fire) else { continue }
            try end(task, of: job, .lost(why.rawValue), closes: true)
            try close(task)
        }
        let left = held.dropFirst(now)
        guard !left.isEmpty else { return }
        for queue in try tasks.revoke(of: job.id, isReplaced: why == .replaced) {
            noteRoom(in: QueueKey(owner: job.ownerID, name: queue))
        }
        leave(left, of: job)
    }

    /// Stores how the attempt at a task has ended that `revoke` took from its worker and left for a later write; returns
    /// false for any other fire.
    mutating func closeRevoked(_ fire: FireID, of job: StoredJob, isReplaced: Bool) throws -> Bool {
        guard let left = try runs.open(of: fire) else { return false }
        let why = isReplaced ? Revocation.replaced : .jobEnded
        let ended = EndedRun(
            fire: fire,
            fireDate: left.date,
            attempt: left.attempt,
            outcome: .lost(why.rawValue),
            endedAt: moment.wall,
            output: CapturedOutput()
        )
        try recordEnd(of: left.run, ofTask: job, ended, isLast: false, closes: true)
        try fires.markDone(fire)
        return true
    }

    /// Has a task wait for a worker, from now on.
    mutating func makeReady(_ task: TaskRow, of job: StoredJob) throws {
        var task = task
        (task.state, task.readyAt) = (.ready, moment.elapsed)
        try rest(task, of: job)
    }

    /// Gives a task back that its worker has lost, to another one, or to none.
    mutating func lose(_ task: TaskRow, of job: StoredJob, _ why: String) throws {
        var task = task
        task.losses += 1
        let isDead = task.losses >= QueuePolicy.losses
        let isOver = try jobs.isInvalidated(job.id)
        try end(task, of: job, .lost(why), isLast: isDead, closes: isOver)
        guard !isOver else { return try close(task) }
        if isDead {
            task.state = .dead
            try rest(task, of: job)
        } else {
            try makeReady(task, of: job)
        }
    }

    /// Stores where a task stands that no worker has, and tells who waits for it.
    mutating func rest(_ task: TaskRow, of job: StoredJob) throws {
        var due: Timestamp?
        switch task.state {
        case .ready: due = taskEnd(of: job)
        case .delayed: due = task.readyAt
        case .dead: due = moment.elapsed + terms.deadKept
        case .reserved, .done: break
        }
        try tasks.rest(task, due: due)
        task.state == .dead ? try fires.markDead(task.fire) : try fires.markQueuedAgain(task.fire)
        outcome.tasks.note(due)
        noteRoom(in: task.key)
        // Its job may have been given another queue, or priority, while a worker had it.
        guard let queue = job.policy.queue,
            queue.priority != task.priority
                || QueueKey(owner: job.ownerID, name: queue.queue) != task.key
        else { return }
        try moveTasks(of: job, task.fire)
    }

    /// Takes the job's tasks that no worker has, all or that of `fire`, into the queue that it has by now.
    ///
    /// They stay as old as they are. What a queue hands out is bounded, not what it holds: so there is room.
    mutating func moveTasks(of job: StoredJob, _ fire: FireID? = nil) throws {
        guard let queue = job.policy.queue, try tasks.move(of: job.id, fire, to: queue) else {
            return
        }
        noteRoom(in: QueueKey(owner: job.ownerID, name: queue.queue))
    }

    /// A queue with a limit may hand out another one.
    mutating func noteRoom(in key: QueueKey) { outcome.tasks.ready.insert(key) }

    /// Stores how an attempt has ended; `isLast`: none follows it by itself; `closes`: none, for the task is over.
    ///
    /// Why it has failed is not stored where its user has no room, and no older reason that could go: a worker can say more of
    /// it than the writes between make room for.
    mutating func end(
        _ task: TaskRow,
        of job: StoredJob,
        _ outcome: RunOutcome,
        isLast: Bool = false,
        closes: Bool = false
    ) throws {
        guard let run = task.run, let date = try fires.wallDate(of: task.fire) else { return }
        var outcome = outcome
        if case .failed(let reason?) = outcome, try !makeRoom(forReason: reason, of: job) {
            outcome = .failed(nil)
        }
        let ended = EndedRun(
            fire: task.fire,
            fireDate: date,
            attempt: task.attempt,
            outcome: outcome,
            endedAt: moment.wall,
            output: CapturedOutput()
        )
        try recordEnd(of: run, ofTask: job, ended, isLast: isLast, closes: closes)
    }
}

/// What a write has done to tasks, for the scheduler.
struct TaskOutcomes: Sendable {
    /// Queues that may have something for who waits.
    var ready: Set<QueueKey> = []
    /// When something is due by itself, in elapsed time.
    var due: Timestamp?
    /// Queues whose rate is used up, with when the next task may be handed out, in elapsed time.
    var blocked: [QueueKey: Timestamp] = [:]
    /// Attempts that are over: no connection is tied to them any more.
    var over: [RunID] = []
    /// Tasks that cannot be read, with why; each is told once.
    var unread: [FireID: String] = [:]
    /// The fires of tasks whose damaged rows were mended.
    var mended: [String] = []

    var isNothing: Bool {
        ready.isEmpty && due == nil && over.isEmpty && blocked.isEmpty && unread.isEmpty
            && mended.isEmpty
    }

    mutating func note(_ date: Timestamp?) {
        guard let date else { return }
        due = min(date, due ?? date)
    }
}

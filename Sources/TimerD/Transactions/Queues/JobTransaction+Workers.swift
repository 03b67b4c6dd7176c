// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What a worker wants of queues.
struct ReserveOrder: Sendable {
    var owner: Owner
    var queues: [String]
    var count: Int
    var lease: TimeSpan
}

/// What a worker gets, and of which queues.
struct GivenTasks: Sendable {
    var tasks: [QueuedTask] = []
    var keys: [QueueKey] = []
    /// Whether the store did not look for this one, as those before it got enough for one write.
    var isPutOff = false
}

/// What workers ask for and say of their tasks.
extension JobTransaction {
    /// Hands out tasks to some of those who wait, in their order, to each its share.
    ///
    /// `waiting`: how many wait for a queue, those of `orders` among them; one where it is left out.
    mutating func reserve(_ orders: [ReserveOrder], waiting: [QueueKey: Int] = [:]) throws
        -> [GivenTasks]
    {
        var (rest, count) = (waiting, 0)
        var looks = QueueLooks(queues)
        return try orders.map { order in
            guard count < Self.handedOutAtOnce, looks.count < Self.looksAtOnce else {
                return GivenTasks(isPutOff: true)
            }
            let given = try reserve(order, waiting: rest, &looks)
            for key in given.keys { rest[key]? -= 1 }
            count += given.tasks.count
            return given
        }
    }

    /// Hands out tasks: those of the highest priority first, of these the ones that are ready longest; of each queue no more
    /// than the worker's share.
    private mutating func reserve(
        _ order: ReserveOrder,
        waiting: [QueueKey: Int],
        _ looks: inout QueueLooks
    ) throws -> GivenTasks {
        let owner = try owners.row(of: order.owner)
        var named: Set<QueueKey> = []
        let keys = order.queues.map { QueueKey(owner: owner, name: $0) }
            .filter { named.insert($0).inserted }
        var lines: [(key: QueueKey, share: Int)] = []
        var rows: [QueueKey: QueueRow] = [:]
        for key in keys {
            guard let queue = try looks.queue(key), queue.ready > 0 else { continue }
            let allowance = queue.allowance(at: moment.elapsed)
            if let next = allowance.next { outcome.tasks.blocked[key] = next }
            guard allowance.count > 0 else { continue }
            let share = min(queue.ready, allowance.count) / max(1, waiting[key] ?? 1)
            lines.append((key, min(share, order.count)))
            rows[key] = queue
        }
        // Of fewer tasks than there are workers those who came first get one each.
        var ready = try ReadyTasks(tasks, of: lines, at: moment.elapsed)
        looks.noteTasks(of: lines.count)
        let room = PageRoom()
        var handedOut: [QueuedTask] = []
        var taken: [QueueKey: Int] = [:]
        while handedOut.count < order.count, let (task, words) = try ready.next() {
            let names = [task.key.name, words.name].reduce(0) { $0 + JSONWriter.byteCount(of: $1) }
            let bytes = Self.taskBytes + names + (words.userInfo?.utf8.count ?? 0)
            guard room.takes(bytes) else { break }
            handedOut.append(try handOut(task, words, order.lease))
            taken[task.key, default: 0] += 1
        }
        for (key, number) in taken {
            looks.forget(key)
            guard let queue = rows[key], let rate = queue.rate else { continue }
            let end = rate.used(by: number, upTo: queue.rateUntil, at: moment.elapsed)
            try queues.setRateUntil(end, of: key)
        }
        return GivenTasks(tasks: handedOut, keys: keys)
    }

    /// What a task takes in a reply beside its words.
    private static let taskBytes = 400
    /// Once a write has handed out as many, whoever is left gets his of the next one: others' changes come in between.
    private static let handedOutAtOnce = 256
    /// Once a write has looked as often at a queue, or at the first tasks of one, whoever is left gets his of the next one, too.
    static let looksAtOnce = 1024

    private mutating func handOut(_ ready: TaskRow, _ words: TaskWords, _ lease: TimeSpan) throws
        -> QueuedTask
    {
        let attempt = ready.attempt + 1
        let run = try runs.insertStarted(
            of: ready.job,
            ready.fire,
            attempt: attempt,
            at: moment.wall
        )
        let until = moment.elapsed + lease
        try tasks.markReserved(ready.fire, run: run, attempt: attempt, lease: lease, until: until)
        try fires.markReserved(ready.fire)
        outcome.tasks.note(until)
        var task = QueuedTask(
            fire: ready.fire,
            job: ready.job,
            queue: ready.key.name,
            priority: ready.priority,
            fireDate: words.fireDate,
            attempt: attempt
        )
        (task.token, task.name) = (run, words.name)
        task.userInfo = words.userInfo.flatMap(JSONText.init(stored:))
        task.leaseUntil = moment.wallDate(until, on: .elapsed)
        return task
    }

    /// Undoes a reservation whose worker went away before it heard of it.
    ///
    /// It counts as no attempt, and the task keeps its age in the queue.
    ///
    /// `isStopping`: the daemon stops, and can tell no event any more. So a task of an ended job, whose drop would be told,
    /// stays reserved until its lease ends.
    mutating func takeBack(_ given: ArraySlice<TaskReference>, isStopping: Bool = false) throws {
        for reference in given {
            guard var task = try tasks.task(reference.fire), task.state == .reserved,
                task.run == reference.token, let job = try jobToChange(task.job, of: nil)
            else { continue }
            let isEnded = try jobs.isInvalidated(job.id)
            if isEnded, isStopping { continue }
            _ = try runs.deleteOpen(reference.token)
            task.attempt -= 1
            guard !isEnded else {
                try dropGivenBack(task, of: job)
                continue
            }
            task.state = .ready
            try rest(task, of: job)
        }
    }

    /// Drops a task that its worker has given back and whose job was invalidated meanwhile: its waiting tasks were dropped
    /// then.
    private mutating func dropGivenBack(_ task: TaskRow, of job: StoredJob) throws {
        try drop(task, of: job, .invalidated)
        noteRoom(in: task.key)
    }

    // MARK: - What became of it

    mutating func extend(_ reference: TaskReference, lease: TimeSpan?, _ caller: Caller) throws
        -> TaskOutcome
    {
        let (task, _) = try held(reference, caller)
        let lease = lease ?? task.lease
        let until = moment.elapsed + lease
        try tasks.extend(task.fire, lease: lease, until: until)
        outcome.tasks.note(until)
        let date = moment.wallDate(until, on: .elapsed)
        return TaskOutcome(fire: task.fire, state: .reserved, leaseUntil: date)
    }

    mutating func finish(_ reference: TaskReference, _ caller: Caller) throws -> TaskOutcome {
        if try outcome(of: reference, caller) == .finished {
            return TaskOutcome(fire: reference.fire, state: .done)
        }
        let (task, job) = try held(reference, caller)
        try end(task, of: job, .finished, isLast: true)
        return try closed(task)
    }

    mutating func fail(_ failed: FailedTask, _ caller: Caller) throws -> TaskOutcome {
        let reference = failed.reference
        if try outcome(of: reference, caller) == .failed { return try standing(reference.fire) }
        var (task, job) = try held(reference, caller)
        task.failures += 1
        let isDead = task.failures > terms.runDefaults.retries(of: job)
        let isOver = try jobs.isInvalidated(job.id)
        try end(task, of: job, .failed(failed.reason), isLast: isDead, closes: isOver)
        guard !isOver else { return try closed(task) }
        if isDead {
            task.state = .dead
        } else {
            let backoff = terms.runDefaults.backoff(of: job)
            let delay = RetryDecision.delay(before: task.failures + 1, of: task.fire, backoff)
            task.state = delay > .zero ? .delayed : .ready
            task.readyAt = moment.elapsed + delay
        }
        try rest(task, of: job)
        return told(task)
    }

    mutating func release(_ released: ReleasedTask, _ caller: Caller) throws -> TaskOutcome {
        let reference = released.reference
        if try outcome(of: reference, caller) == .released { return try standing(reference.fire) }
        var (task, job) = try held(reference, caller)
        try end(task, of: job, .released)
        guard try !jobs.isInvalidated(job.id) else {
            // Nobody has done it: its fire is no success.
            try dropGivenBack(task, of: job)
            return TaskOutcome(fire: task.fire, state: .done)
        }
        task.state = released.delaySpan > .zero ? .delayed : .ready
        task.readyAt = moment.elapsed + released.delaySpan
        try rest(task, of: job)
        return told(task)
    }

    /// The connections of these attempts are over; a worker that goes on has tied its task to another.
    mutating func loseConnections(_ gone: [TaskReference]) throws {
        for reference in gone {
            guard let task = try tasks.task(reference.fire), task.state == .reserved,
                task.run == reference.token, let job = try jobToChange(task.job, of: nil)
            else { continue }
            try lose(task, of: job, "its worker's connection was over")
        }
    }

    private mutating func closed(_ task: TaskRow) throws -> TaskOutcome {
        try close(task)
        return TaskOutcome(fire: task.fire, state: .done)
    }

    private func told(_ task: TaskRow) -> TaskOutcome {
        let date = task.state == .delayed ? moment.wallDate(task.readyAt, on: .elapsed) : nil
        return TaskOutcome(fire: task.fire, state: task.state, readyAt: date)
    }

    /// Where a task stands of which the same was said before.
    private func standing(_ fire: FireID) throws -> TaskOutcome {
        guard let task = try tasks.task(fire) else { return TaskOutcome(fire: fire, state: .done) }
        return told(task)
    }

    /// What an attempt of the caller's was said to be; nil where nothing was said.
    private func outcome(of reference: TaskReference, _ caller: Caller) throws -> Run.Outcome? {
        guard let run = try Queries(database).run(reference.token, for: caller),
            run.fire == reference.fire
        else { return nil }
        return run.outcome
    }

    private func mayAsk(_ caller: Caller) throws -> OwnerID? {
        try Queries(database).id(of: caller.onlyOwner)
    }

    /// The task that the attempt still has, with its job.
    private mutating func held(_ reference: TaskReference, _ caller: Caller) throws -> (
        TaskRow, StoredJob
    ) {
        let only = try mayAsk(caller)
        guard let task = try tasks.task(reference.fire), only.map({ $0 == task.key.owner }) ?? true,
            let job = try jobToChange(task.job, of: nil)
        else {
            guard try outcome(of: reference, caller) != nil else {
                throw ControlError.noTask(reference.fire)
            }
            throw ControlError.leaseLost(reference, "it is over")
        }
        guard task.state == .reserved else {
            throw ControlError.leaseLost(reference, "it is \(task.state.rawValue)")
        }
        guard task.run == reference.token else {
            throw ControlError.leaseLost(
                reference,
                "attempt \(task.attempt) has it, with the token \(task.run.map { "\($0)" } ?? "none")"
            )
        }
        return (task, job)
    }
}

extension ControlError {
    static func noTask(_ fire: FireID) -> Self {
        Self(
            .notFound,
            "there is no task \(fire); 'timerctl queue tasks' shows those that are not over"
        )
    }

    /// `standing`: where the task stands now.
    static func leaseLost(_ reference: TaskReference, _ standing: String) -> Self {
        Self(
            .leaseLost,
            "task \(reference.fire) is not the attempt's with the token \(reference.token) any more: \(standing)"
        )
    }
}

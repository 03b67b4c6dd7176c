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
    var tasks: [QueuedTask]
    var keys: [QueueKey]
}

/// What workers ask for and say of their tasks.
extension JobTransaction {
    /// Hands out tasks to some of those who wait, in their order, to each its share.
    ///
    /// `sharing`: how many wait in all.
    mutating func reserve(_ orders: [ReserveOrder], sharing: Int) throws -> [GivenTasks] {
        var rest = sharing
        return try orders.map { order in
            defer { rest = max(1, rest - 1) }
            return try reserve(order, sharing: rest)
        }
    }

    /// Hands out tasks: those of the highest priority first, of these the ones that are ready longest.
    private mutating func reserve(_ order: ReserveOrder, sharing: Int) throws -> GivenTasks {
        let owner = try owners.row(of: order.owner)
        let keys = Set(order.queues).sorted().map { QueueKey(owner: owner, name: $0) }
        var ready = 0
        var found: [(key: QueueKey, task: ReadyTask)] = []
        var rows: [String: QueueRow] = [:]
        for key in keys {
            guard let queue = try queues.queue(key), queue.ready > 0 else { continue }
            let allowance = queue.allowance(at: moment.elapsed)
            if let next = allowance.next { outcome.tasks.blocked[key] = next }
            guard allowance.count > 0 else { continue }
            ready += min(queue.ready, allowance.count)
            rows[key.name] = queue
            let limit = min(order.count, allowance.count)
            found += try tasks.ready(key, limit: limit, at: moment.elapsed).map { (key, $0) }
        }
        found.sort {
            ($1.task.priority, $0.task.readyAt, $0.task.fire.rawValue)
                < ($0.task.priority, $1.task.readyAt, $1.task.fire.rawValue)
        }
        let room = PageRoom()
        let share = max(1, ready / sharing)
        let chosen = found.prefix(min(order.count, share)).prefix {
            room.takes(Self.taskBytes + ($0.task.userInfo?.utf8.count ?? 0))
        }
        let handedOut = try chosen.map { try handOut($0.task, $0.key, order.lease) }
        for (key, number) in Dictionary(grouping: chosen, by: \.key).mapValues(\.count) {
            guard let queue = rows[key.name], let rate = queue.rate else { continue }
            let end = rate.used(by: number, upTo: queue.rateUntil, at: moment.elapsed)
            try queues.setRateUntil(end, of: key)
        }
        return GivenTasks(tasks: handedOut, keys: keys)
    }

    /// What a task takes in a reply beside its `userInfo`.
    private static let taskBytes = 400

    private mutating func handOut(_ ready: ReadyTask, _ key: QueueKey, _ lease: TimeSpan) throws
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
            queue: key.name,
            priority: ready.priority,
            fireDate: ready.fireDate,
            attempt: attempt
        )
        (task.token, task.name) = (run, ready.name)
        task.userInfo = ready.userInfo.flatMap(JSONText.init(stored:))
        task.leaseUntil = moment.wallDate(until, on: .elapsed)
        return task
    }

    /// Undoes a reservation whose worker went away before it heard of it: it was no attempt.
    mutating func takeBack(_ given: [TaskReference]) throws {
        for reference in given {
            guard var task = try tasks.task(reference.fire), task.state == .reserved,
                task.run == reference.token, let job = try job(task.job)
            else { continue }
            _ = try runs.deleteOpen(reference.token)
            task.attempt -= 1
            try makeReady(task, of: job)
        }
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
        let isDead = task.failures > runDefaults.retries(of: job)
        try end(task, of: job, .failed(failed.reason), isLast: isDead)
        guard try !jobs.isInvalidated(job.id) else { return try closed(task) }
        if isDead {
            task.state = .dead
        } else {
            let backoff = runDefaults.backoff(of: job)
            let delay = RetryDecision.delay(before: task.failures + 1, of: task.fire, backoff)
            task.state = delay > .zero ? .delayed : .ready
            task.readyAt = moment.elapsed + delay
        }
        try rest(task, of: job, .of(failed.reason))
        return told(task)
    }

    mutating func release(_ released: ReleasedTask, _ caller: Caller) throws -> TaskOutcome {
        let reference = released.reference
        if try outcome(of: reference, caller) == .released { return try standing(reference.fire) }
        var (task, job) = try held(reference, caller)
        try end(task, of: job, .released)
        guard try !jobs.isInvalidated(job.id) else { return try closed(task) }
        task.state = released.delaySpan > .zero ? .delayed : .ready
        task.readyAt = moment.elapsed + released.delaySpan
        try rest(task, of: job, .of(nil))
        return told(task)
    }

    /// The connections of these attempts are over; a worker that goes on has tied its task to another.
    mutating func loseConnections(_ gone: [TaskReference]) throws {
        for reference in gone {
            guard let task = try tasks.task(reference.fire), task.state == .reserved,
                task.run == reference.token, let job = try job(task.job)
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
    private func held(_ reference: TaskReference, _ caller: Caller) throws -> (TaskRow, StoredJob) {
        let only = try mayAsk(caller)
        guard let task = try tasks.task(reference.fire), only.map({ $0 == task.key.owner }) ?? true,
            let job = try job(task.job)
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

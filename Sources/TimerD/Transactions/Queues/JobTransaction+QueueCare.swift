// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What who looks after queues asks for.
extension JobTransaction {
    /// Sets what is stated of a queue; one of the caller's own is made where there is none.
    mutating func set(
        _ request: SetQueue,
        _ caller: Caller
    ) throws -> (queue: QueueRow, isMade: Bool) {
        // A misspelt owner or queue of another user must not make one.
        let key =
            request.owner == nil
            ? QueueKey(owner: try owners.row(of: caller.owner), name: request.queue)
            : try self.key(request.queue, of: request.owner, caller)
        let isMade = try request.owner == nil && queues.queue(key) == nil
        if isMade { try ensure(key) }
        guard var queue = try queues.queue(key) else {
            throw ControlError.noQueue(request.queue, of: request.owner, caller)
        }
        if let isPaused = request.paused { queue.isPaused = isPaused }
        if let most = request.maxReserved { queue.maxReserved = most > 0 ? most : nil }
        if let words = request.maxRate {
            let rate = TaskRate(parsing: words)
            let usedUp = queue.rate == nil ? moment.elapsed : queue.rateUntil
            queue.rateUntil = rate.map { min(usedUp, $0.usedUp(at: moment.elapsed)) } ?? usedUp
            queue.rate = rate
        }
        try queues.set(queue)
        noteRoom(in: key)
        return (queue, isMade)
    }

    /// Makes the row of a queue.
    ///
    /// - Throws: `ControlError` `limitReached` where the owner has too many.
    func ensure(_ key: QueueKey) throws {
        guard try queues.queue(key) == nil else { return }
        if try queues.count(of: key.owner) >= Self.maxQueues {
            try queues.removeUnused(of: key.owner)
            let count = try queues.count(of: key.owner)
            guard count < Self.maxQueues else {
                throw ControlError(
                    .limitReached,
                    "you have \(count) queues that hold tasks or have settings, accepted are \(Self.maxQueues)"
                )
            }
        }
        try queues.add(key)
    }

    static let maxQueues = 1000

    /// Has dead tasks tried again, with all their retries; returns how many.
    mutating func retry(_ selection: TaskSelection, _ caller: Caller) throws -> Int {
        switch selection {
        case .fires(let fires):
            let chosen = try fires.compactMap { try dead($0, caller) }
            for (task, job) in chosen { try retry(task, of: job) }
            return chosen.count
        case .queue(let name, let owner, let count):
            return try makeReady(name, of: owner, .dead, count, caller)
        }
    }

    /// A task that can be retried, with its job; nil where that is gone.
    ///
    /// - Throws: `ControlError` `conflict` for one that is not dead, or that nobody would be given.
    private mutating func dead(_ fire: FireID, _ caller: Caller) throws -> (TaskRow, StoredJob)? {
        let task = try named(fire, caller)
        guard task.state == .dead else {
            throw ControlError(
                .conflict,
                "task \(fire) is \(task.state.rawValue); only a dead one is retried"
            )
        }
        guard let job = try jobToChange(task.job, of: nil) else { return nil }
        if let until = job.policy.until, isOver(job) {
            throw ControlError(
                .conflict,
                "task \(fire) would be handed out to nobody: 'until' of job \(job.id) is "
                    + "'\(until.rfc3339)', which has passed"
            )
        }
        return (task, job)
    }

    private mutating func retry(_ task: TaskRow, of job: StoredJob) throws {
        var task = task
        (task.failures, task.losses) = (0, 0)
        try makeReady(task, of: job)
    }

    /// Whether the job's `until` has passed: its tasks are dropped as soon as they are ready.
    private func isOver(_ job: StoredJob) -> Bool {
        taskEnd(of: job).map { $0 <= moment.elapsed } ?? false
    }

    /// Drops tasks that no worker has; returns how many.
    mutating func drop(_ request: DropTasks, _ caller: Caller) throws -> Int {
        let chosen: [TaskRow]
        switch request {
        case .fires(let fires):
            chosen = try fires.map { fire in
                let task = try named(fire, caller)
                guard task.state != .reserved else {
                    throw ControlError.workerHas(fire, of: task.job)
                }
                return task
            }
        case .queue(let name, let owner, let state, let count):
            let key = try existing(name, of: owner, caller)
            chosen = try tasks.resting(key, state, limit: count ?? Self.standardCount)
        }
        for task in chosen {
            if let job = try jobToChange(task.job, of: nil) { try drop(task, of: job, .dropped) }
        }
        return chosen.count
    }

    /// Makes the next delayed tasks of a queue ready; returns how many.
    mutating func kick(_ request: KickTasks, _ caller: Caller) throws -> Int {
        try makeReady(request.queue, of: request.owner, .delayed, request.count, caller)
    }

    /// Makes dead or delayed tasks of a queue ready, the first ones that can be handed out; returns how many.
    private mutating func makeReady(
        _ name: String,
        of owner: String?,
        _ state: QueuedTask.State,
        _ count: Int?,
        _ caller: Caller
    ) throws -> Int {
        let key = try existing(name, of: owner, caller)
        let count = count ?? Self.standardCount
        var done = 0
        // Where some of the first are passed over, others are looked for behind them.
        for limit in [count, count + Self.mostPassedOver] where done < count {
            let resting = try tasks.resting(key, state, limit: limit)
            var passedOver = 0
            for task in resting where done < count && passedOver < Self.mostPassedOver {
                guard let job = try jobToChange(task.job, of: nil), !isOver(job) else {
                    passedOver += 1
                    continue
                }
                state == .dead ? try retry(task, of: job) : try makeReady(task, of: job)
                done += 1
            }
            if resting.count < limit { break }
        }
        return done
    }

    /// How many tasks that stay as they are one request looks at: other writes wait meanwhile, and it can be repeated.
    private static let mostPassedOver = 1000

    /// How many tasks of a queue are changed, where the request does not say it.
    private static let standardCount = 1000

    private func existing(_ name: String, of owner: String?, _ caller: Caller) throws -> QueueKey {
        let key = try self.key(name, of: owner, caller)
        guard try queues.queue(key) != nil else {
            throw ControlError.noQueue(name, of: owner, caller)
        }
        return key
    }

    /// The queue of the user whom `words` mean, among those that the caller may know of; without `words` the caller's own.
    private func key(_ name: String, of words: String?, _ caller: Caller) throws -> QueueKey {
        guard let words, let owner = try Queries(database).owner(meant: words, caller) else {
            return QueueKey(owner: try owners.id(of: caller.owner), name: name)
        }
        return QueueKey(owner: owner, name: name)
    }

    private func named(_ fire: FireID, _ caller: Caller) throws -> TaskRow {
        let only = try Queries(database).id(of: caller.onlyOwner)
        guard let task = try tasks.task(fire), only.map({ $0 == task.key.owner }) ?? true else {
            throw ControlError.noTask(fire)
        }
        return task
    }
}

extension ControlError {
    static func noQueue(_ name: String, of owner: String?, _ caller: Caller) -> Self {
        let who = owner.map { "user '\($0)' has" } ?? "you have"
        let hint =
            owner == nil && caller.isAdministrator
            ? "shows whose there are, and --owner names another user" : "shows them"
        return Self(.notFound, "\(who) no queue '\(name)'; 'timerctl queue list' \(hint)")
    }
}

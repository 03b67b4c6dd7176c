// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What who looks after queues asks for.
extension JobTransaction {
    /// Sets what is stated of a queue, which is made where there is none.
    mutating func set(_ request: SetQueue, of owner: Owner) throws -> QueueRow {
        let key = QueueKey(owner: try owners.row(of: owner), name: request.queue)
        try ensure(key)
        guard var queue = try queues.queue(key) else { throw ControlError.noQueue(request.queue) }
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
        return queue
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
        let chosen: [TaskRow]
        switch selection {
        case .fires(let fires):
            chosen = try fires.map { fire in
                let task = try named(fire, caller)
                guard task.state == .dead else {
                    throw ControlError(
                        .conflict,
                        "task \(fire) is \(task.state.rawValue); only a dead one is retried"
                    )
                }
                return task
            }
        case .queue(let name, let count):
            chosen = try resting(name, .dead, count, caller)
        }
        for task in chosen {
            guard let job = try jobToChange(task.job, of: nil) else { continue }
            var task = task
            (task.failures, task.losses) = (0, 0)
            try makeReady(task, of: job)
        }
        return chosen.count
    }

    /// Drops tasks that no worker has; returns how many.
    mutating func drop(_ request: DropTasks, _ caller: Caller) throws -> Int {
        let chosen: [TaskRow]
        switch request {
        case .fires(let fires):
            chosen = try fires.map { fire in
                let task = try named(fire, caller)
                guard task.state != .reserved else {
                    throw ControlError(
                        .conflict,
                        "a worker has task \(fire); 'timerctl invalidate --kill \(task.job)' takes it away"
                    )
                }
                return task
            }
        case .queue(let name, let state, let count):
            chosen = try resting(name, state, count, caller)
        }
        for task in chosen {
            if let job = try jobToChange(task.job, of: nil) { try drop(task, of: job, .dropped) }
        }
        return chosen.count
    }

    /// Makes the next delayed tasks of a queue ready; returns how many.
    mutating func kick(_ request: KickTasks, _ caller: Caller) throws -> Int {
        let chosen = try resting(request.queue, .delayed, request.count, caller)
        for task in chosen {
            if let job = try jobToChange(task.job, of: nil) { try makeReady(task, of: job) }
        }
        return chosen.count
    }

    private func resting(
        _ name: String,
        _ state: QueuedTask.State,
        _ count: Int?,
        _ caller: Caller
    ) throws -> [TaskRow] {
        let key = QueueKey(owner: try owners.id(of: caller.owner), name: name)
        guard try queues.queue(key) != nil else { throw ControlError.noQueue(name) }
        return try tasks.resting(key, state, limit: count ?? 1000)
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
    static func noQueue(_ name: String) -> Self {
        Self(.notFound, "you have no queue '\(name)'; 'timerctl queue list' shows them")
    }
}

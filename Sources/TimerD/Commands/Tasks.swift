// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Tasks of queues, for workers.
extension CommandHandler {
    /// `task.reserve`.
    func reserveTasks(_ request: ReserveTasks, _ caller: Caller) async throws -> Answer {
        let tasks = try await reserve(request, caller)
        // What was reserved is stored; that there is nothing may be of the past.
        if tasks.isEmpty { try requireLead() }
        return TasksReply(tasks: tasks)
    }

    private func reserve(_ request: ReserveTasks, _ caller: Caller) async throws -> [QueuedTask] {
        let order = ReserveOrder(
            owner: caller.owner,
            queues: request.queues,
            count: request.count ?? 1,
            lease: request.leaseSpan
        )
        let isTied = request.whileConnected == true
        let endsWithConnection = isTied || request.waitWhileConnected == true
        guard !endsWithConnection || caller.life != nil else {
            let name = isTied ? "whileConnected" : "waitWhileConnected"
            throw ControlError(.invalidParams, "parameter '\(name)' needs a connection")
        }
        // One that may wait has its place until it waits.
        try await caller.place?.take()
        // What is tied to a connection is the scheduler's to know.
        if !isTied, let tasks = try await scheduler.reserveReady(order),
            !tasks.isEmpty || request.waitSpan == .zero
        {
            return tasks
        }
        let wait = request.waitSpan
        let life = endsWithConnection ? caller.life : nil
        // Nothing that was sent behind one that waits is to wait for it.
        guard wait == .zero else {
            return try await scheduler.reserve(
                order,
                wait: wait,
                life: life,
                isTied: isTied,
                place: caller.place
            )
        }
        return try await scheduler.detour(of: caller) {
            try await scheduler.reserve(order, wait: .zero, life: life, isTied: isTied)
        }
    }

    /// `task.extend`.
    func extendTasks(_ request: ExtendTasks, _ caller: Caller) async throws -> Answer {
        let lease = request.leaseSpan
        let outcomes = try await scheduler.tell(
            request.tasks,
            isList: request.isList,
            fire: \.fire,
            caller: caller
        ) {
            try $0.extend($1, lease: lease, caller)
        }
        let going = zip(request.tasks, outcomes).filter { $1.state == .reserved }.map(\.0)
        if request.whileConnected == true, let life = caller.life {
            await scheduler.tie(going, to: life)
        } else if request.whileConnected == false {
            await scheduler.untie(going)
        }
        return answer(outcomes, isList: request.isList)
    }

    /// `task.finish`.
    func finishTasks(_ request: FinishTasks, _ caller: Caller) async throws -> Answer {
        let outcomes = try await scheduler.tell(
            request.tasks,
            isList: request.isList,
            fire: \.fire,
            caller: caller
        ) {
            try $0.finish($1, caller)
        }
        return answer(outcomes, isList: request.isList)
    }

    /// `task.fail`.
    func failTasks(_ request: FailTasks, _ caller: Caller) async throws -> Answer {
        let outcomes = try await scheduler.tell(
            request.tasks,
            isList: request.isList,
            fire: \.reference.fire,
            caller: caller
        ) {
            try $0.fail($1, caller)
        }
        return answer(outcomes, isList: request.isList)
    }

    /// `task.release`.
    func releaseTasks(_ request: ReleaseTasks, _ caller: Caller) async throws -> Answer {
        let outcomes = try await scheduler.tell(
            request.tasks,
            isList: request.isList,
            fire: \.reference.fire,
            caller: caller
        ) {
            try $0.release($1, caller)
        }
        return answer(outcomes, isList: request.isList)
    }

    private func answer(_ outcomes: [TaskOutcome], isList: Bool) -> Answer {
        guard !isList, let only = outcomes.first else { return TaskOutcomesReply(tasks: outcomes) }
        return TaskOutcomeReply(task: only)
    }
}

// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Schedules
import TimerControl

/// Queues and their tasks, for who looks after them.
extension CommandHandler {
    /// `task.list`: a page of the tasks that match, by growing number.
    func listTasks(_ request: ListTasks, _ caller: Caller) async throws -> Answer {
        let limit = request.limit ?? 100
        let moment = clock.now()
        return try await read(for: caller) { queries in
            let owner = try queries.owner(meant: request.owner, caller)
            return try queries.tasks(request, owner: owner, limit: limit, at: moment)
        }
    }

    /// `task.retry`.
    func retryTasks(_ request: TaskSelection, _ caller: Caller) async throws -> Answer {
        CountReply(count: try await scheduler.care(caller) { try $0.retry(request, caller) })
    }

    /// `task.drop`.
    func dropTasks(_ request: DropTasks, _ caller: Caller) async throws -> Answer {
        CountReply(count: try await scheduler.care(caller) { try $0.drop(request, caller) })
    }

    /// `task.kick`.
    func kickTasks(_ request: KickTasks, _ caller: Caller) async throws -> Answer {
        CountReply(count: try await scheduler.care(caller) { try $0.kick(request, caller) })
    }

    /// `queue.list`: a page of the caller's queues by name, or of those of another user, or of all.
    func listQueues(_ request: ListQueues, _ caller: Caller) async throws -> Answer {
        let (found, cursor) = try await read(for: caller) { queries in
            let owner = try queries.owner(meant: request.owner, caller)
            return try queries.queues(request, owner: owner)
        }
        return QueuesReply(queues: await view(found), cursor: cursor)
    }

    /// `queue.set`.
    func setQueue(_ request: SetQueue, _ caller: Caller) async throws -> Answer {
        // As it stands with this change, whatever was sent behind it.
        let (found, isMade) = try await scheduler.care(caller) { transaction in
            let (set, isMade) = try transaction.set(request, caller)
            return (try Queries(transaction.database).queue(set.key), isMade)
        }
        guard let queue = await view([found].compactMap(\.self)).first else {
            throw ControlError.noQueue(request.queue, of: request.owner, caller)
        }
        return QueueReply(queue: queue, made: isMade ? true : nil)
    }

    private func view(_ found: [FoundQueue]) async -> [TaskQueue] {
        let waiting = await scheduler.waiting(for: found.map(\.row.key))
        let moment = clock.now()
        return zip(found, waiting).map { queue, waiting in
            let row = queue.row
            return TaskQueue(
                queue: row.key.name,
                owner: queue.owner,
                paused: row.isPaused,
                maxReserved: row.maxReserved,
                maxRate: row.rate.map { "\($0)" },
                ready: row.ready,
                delayed: row.delayed,
                reserved: row.reserved,
                dead: row.dead,
                oldest: queue.oldest.map { moment.wallDate($0, on: .elapsed) },
                waiting: waiting
            )
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import LinuxSystem
@testable import TimerD

extension TestScheduler {
    /// What `task.reserve` answers.
    func reserve(
        _ queues: String...,
        count: Int = 1,
        lease: TimeSpan = .seconds(60),
        wait: TimeSpan = .zero,
        life: ConnectionLife? = nil,
        isTied: Bool = true
    ) async throws -> [QueuedTask] {
        let order = ReserveOrder(owner: .root, queues: queues, count: count, lease: lease)
        return try await scheduler.reserve(
            order,
            wait: wait,
            life: life,
            isTied: isTied && life != nil
        )
    }

    func tell(
        _ task: QueuedTask,
        _ body: @escaping @Sendable (inout JobTransaction, TaskReference) throws -> TaskOutcome
    ) async throws -> TaskOutcome {
        let reference = try #require(task.reference)
        return try await scheduler.tell(
            [reference],
            isList: false,
            fire: \.fire,
            caller: Self.root,
            body
        )[0]
    }

    func finish(_ task: QueuedTask) async throws -> TaskOutcome {
        try await tell(task) { try $0.finish($1, Self.root) }
    }

    func fail(_ task: QueuedTask, _ reason: String? = nil) async throws -> TaskOutcome {
        try await tell(task) { try $0.fail(FailedTask($1, reason: reason), Self.root) }
    }

    func tasks(_ request: ListTasks = ListTasks()) async throws -> [QueuedTask] {
        try await settle()
        let moment = clock.now()
        return try await store.reader.read {
            try Queries($0).tasks(request, owner: nil, limit: 100, at: moment).tasks
        }
    }

    func queue(_ name: String) async throws -> QueueRow? {
        try await settle()
        return try await store.reader.read { database in
            try Queries(database).queues(ListQueues(), owner: nil).0.map(\.row).first {
                $0.key.name == name
            }
        }
    }

    /// Whether a worker is refused, as its lease is lost.
    static func isLeaseLost(_ body: () async throws -> TaskOutcome) async -> Bool {
        do {
            _ = try await body()
            return false
        } catch {
            return (error as? ControlError)?.reason == .leaseLost
        }
    }

    /// Returns once so many workers wait for a queue and nobody asks the store for them.
    func waits(_ number: Int, for queue: String) async throws {
        while true {
            try await settle()
            let waiting = await loop.ask { [scheduler] in
                scheduler.assumeIsolated { scheduler in
                    scheduler.taskWaits.waiters.values.filter { waiter in
                        !waiter.isAsking && waiter.keys.contains { $0.name == queue }
                    }.count
                }
            }
            if waiting == number { return }
            await Task.yield()
        }
    }
}

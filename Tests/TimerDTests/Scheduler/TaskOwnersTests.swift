// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Whose queue a request changes.
@Suite("Scheduler, owners of queues", .timeLimit(.minutes(2)))
struct TaskOwnersTests {
    /// Three tasks of user 1000: one delayed, one dead, one ready.
    private func addTasks(to test: TestScheduler) async throws {
        let user = Caller(uid: 1000, isAdministrator: false)
        for _ in 0..<3 {
            var definition = JobDefinition(schedule: ScheduleWords(in: "0s"))
            definition.queue = "mails"
            let new = try NewJob(definition, owner: 1000, at: test.clock.now(), zone: .utc)
            _ = try await test.scheduler.add([new], replace: false, caller: user)
        }
        try await test.settle()
        let order = ReserveOrder(
            owner: Owner(uid: 1000),
            queues: ["mails"],
            count: 2,
            lease: .seconds(60)
        )
        let tasks = try await test.scheduler.reserve(order, wait: .zero, life: nil, isTied: false)
        let references = tasks.compactMap(\.reference)
        try #require(references.count == 2)
        _ = try await test.scheduler.tell(
            [references[0]],
            isList: false,
            fire: \.fire,
            caller: user
        ) { try $0.release(ReleasedTask($1, delay: "1h"), user) }
        _ = try await test.scheduler.tell(
            [references[1]],
            isList: false,
            fire: \.fire,
            caller: user
        ) { try $0.fail(FailedTask($1), user) }
    }

    private func set(
        _ name: String,
        of owner: String?,
        from user: UInt32,
        _ test: TestScheduler
    ) async -> Result<QueueReply?, ControlError> {
        var request = SetQueue(queue: name)
        (request.owner, request.paused) = (owner, true)
        return await test.handler().handle(.setQueue(request), from: user)
            .map { $0 as? QueueReply }
    }

    @Test("An administrator who names another user changes that one's queue, and makes none")
    func administrator() async throws {
        try await TestScheduler.with { test in
            try await addTasks(to: test)
            let reply = try #require(try await set("mails", of: "1000", from: 0, test).get())
            #expect(reply.queue.paused && reply.made == nil)
            #expect((reply.queue.ready, reply.queue.delayed, reply.queue.dead) == (1, 1, 1))
            for (name, owner) in [("mials", "1000"), ("mails", "1001")] {
                let refused = await set(name, of: owner, from: 0, test)
                #expect(throws: ControlError.self) { _ = try refused.get() }
            }
            var kick = KickTasks(queue: "mails")
            kick.owner = "1000"
            let requests: [Request] = [
                .kickTasks(kick), .retryTasks(.queue("mails", owner: "1000", count: nil)),
                .dropTasks(.queue("mails", owner: "1000", state: .ready, count: 2)),
            ]
            var counts: [Int] = []
            for request in requests {
                let answer = try await test.handler().handle(request, from: 0).get()
                counts.append(try #require(answer as? CountReply).count)
            }
            #expect(counts == [1, 1, 2])
            let left = try #require(try await test.queue("mails"))
            #expect(left.isPaused && (left.ready, left.delayed, left.dead) == (1, 0, 0))
        }
    }

    @Test("Without an owner a queue is the caller's own, and is said to be made where it is")
    func own() async throws {
        try await TestScheduler.with { test in
            try await addTasks(to: test)
            let kick = await test.handler().handle(.kickTasks(KickTasks(queue: "mails")), from: 0)
            let error = #expect(throws: ControlError.self) { _ = try kick.get() }
            #expect(error?.reason == .notFound)
            #expect(error?.message.contains("--owner") == true)
            let first = try #require(try await set("mails", of: nil, from: 0, test).get())
            #expect(first.made == true && first.queue.ready == 0)
            let second = try #require(try await set("mails", of: nil, from: 0, test).get())
            #expect(second.made == nil)
        }
    }

    @Test("A user changes no queue of another one's, whether it is there or not")
    func others() async throws {
        try await TestScheduler.with { test in
            try await addTasks(to: test)
            for name in ["mails", "none"] {
                let refused = await set(name, of: "1000", from: 1001, test)
                let error = #expect(throws: ControlError.self) { _ = try refused.get() }
                #expect(error?.reason == .notPermitted)
            }
            let own = try #require(try await set("mails", of: "1000", from: 1000, test).get())
            #expect(own.queue.paused)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// What who looks after queues asks for: kick, drop and retry; and what no other user may.
@Suite("Scheduler, care of tasks", .timeLimit(.minutes(2)))
struct TaskCareTests {
    private func add(_ count: Int, to test: TestScheduler, owner: UInt32 = 0) async throws {
        for _ in 0..<count {
            var definition = JobDefinition(schedule: ScheduleWords(in: "0s"))
            definition.queue = "mails"
            let new = try NewJob(definition, owner: owner, at: test.clock.now(), zone: .utc)
            let caller = Caller(uid: owner, isAdministrator: owner == 0)
            _ = try await test.scheduler.add([new], replace: false, caller: caller)
        }
    }

    private func release(_ task: QueuedTask, _ delay: String, _ test: TestScheduler) async throws
        -> TaskOutcome
    {
        try await test.tell(task) {
            try $0.release(ReleasedTask($1, delay: delay), TestScheduler.root)
        }
    }

    private func drop(_ request: DropTasks, _ test: TestScheduler) async throws -> Int {
        try await test.scheduler.care(TestScheduler.root) {
            try $0.drop(request, TestScheduler.root)
        }
    }

    private func reason(_ body: () async throws -> Void) async -> ControlError.Reason? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? ControlError)?.reason
        }
    }

    @Test("A task by hand that is dropped, or replaced, is known to be of no date of the schedule")
    func droppedByHand() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1h")) {
                ($0.queue, $0.overlap) = ("mails", .replace)
            }
            for _ in 0..<2 {
                _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            }
            let left = try #require(try await test.tasks().first)
            #expect(try await drop(.fires([left.fire]), test) == 1)
            #expect(try await test.history(job.id).map(\.reason) == [.withdrawn, .withdrawn])
            #expect(test.sink.all(.fireSkipped).map(\.reason) == ["withdrawn", "withdrawn"])
        }
    }

    @Test("An attempt that a worker has is not killed: the refusal says what takes it away")
    func killedAttempt() async throws {
        try await TestScheduler.with { test in
            try await add(1, to: test)
            let task = try #require(try await test.reserve("mails").first)
            let run = try #require(task.token)
            let kill = Request.killRun(KillRun(run))
            let refusal = await #expect(throws: ControlError.self) {
                _ = try await test.handler().handle(kill, from: 0).get()
            }
            #expect(refusal?.reason == .conflict)
            #expect(
                refusal?.message
                    == "run \(run) is a worker's attempt at task \(task.fire); "
                    + "'timerctl invalidate --kill \(task.job)' ends its job, and takes it away"
            )
            _ = try await test.finish(task)
            let over = await #expect(throws: ControlError.self) {
                _ = try await test.handler().handle(kill, from: 0).get()
            }
            #expect(over?.message == "run \(run) is not in progress")
        }
    }

    @Test("A list of paused queues has no others, and one of the others no paused ones")
    func pausedQueues() async throws {
        try await TestScheduler.with { test in
            for number in 1...5 {
                _ = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "q\(number)" }
            }
            try await test.settle()
            for name in ["q2", "q5"] {
                var set = SetQueue(queue: name)
                set.paused = true
                _ = try await test.handler().handle(.setQueue(set), from: 0).get()
            }
            for (paused, limit, names) in [
                (true, 1, ["q2", "q5"]), (true, 100, ["q2", "q5"]), (false, 1, ["q1", "q3", "q4"]),
            ] {
                var request = ListQueues()
                (request.paused, request.limit) = (paused, limit)
                var found: [String] = []
                repeat {
                    let answer = try await test.handler().listQueues(request, TestScheduler.root)
                    let reply = try #require(answer as? QueuesReply)
                    #expect(reply.queues.count <= limit)
                    found += reply.queues.map(\.queue)
                    request.cursor = reply.cursor
                } while request.cursor != nil
                #expect(found == names)
            }
        }
    }

    @Test("A fire that a task of its job is in the way of is refused with the queue of that task")
    func inTheWay() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1h")) { $0.queue = "old" }
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            // One that waited would go along.
            _ = try #require(try await test.reserve("old").first)
            var definition = job.definition
            definition.queue = "new"
            let new = try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
            let changes = JobChanges(invalidate: [], change: [.init(id: job.id, to: new)], add: [])
            _ = try await test.scheduler.apply(changes, caller: TestScheduler.root)
            let error = await #expect(throws: ControlError.self) {
                try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            }
            #expect(error?.message.contains("'timerctl queue tasks old'") == true)
        }
    }

    @Test("A task that is released comes back after its delay, and has all its retries")
    func released() async throws {
        try await TestScheduler.with { test in
            try await add(1, to: test)
            let first = try #require(try await test.reserve("mails").first)
            let told = try await release(first, "10s", test)
            #expect(told.state == .delayed && told.readyAt == TestScheduler.start + .seconds(10))
            #expect(try await release(first, "10s", test) == told, "said again, answered again")
            try await test.advance(by: .seconds(9))
            #expect(try await test.reserve("mails").isEmpty)
            try await test.advance(by: .seconds(2))
            let second = try #require(try await test.reserve("mails").first)
            #expect((second.fire, second.attempt) == (first.fire, 2))
            #expect(try await release(second, "0s", test).state == .ready)
        }
    }

    @Test("A kick has the next of the delayed tasks ready at once, and no more than so many")
    func kicked() async throws {
        try await TestScheduler.with { test in
            try await add(3, to: test)
            let tasks = try await test.reserve("mails", count: 3)
            for (task, delay) in zip(tasks, ["3h", "1h", "2h"]) {
                _ = try await release(task, delay, test)
            }
            #expect(try await test.reserve("mails").isEmpty)
            var request = KickTasks(queue: "mails")
            request.count = 2
            let waiting = Task { try await test.reserve("mails", count: 5, wait: .seconds(60)) }
            try await test.waits(1, for: "mails")
            let count = try await test.scheduler.care(TestScheduler.root) { [request] in
                try $0.kick(request, TestScheduler.root)
            }
            #expect(count == 2)
            #expect(try await waiting.value.map(\.fire) == [tasks[1].fire, tasks[2].fire])
            let queue = try #require(try await test.queue("mails"))
            #expect((queue.ready, queue.delayed, queue.reserved) == (0, 1, 2))
        }
    }

    @Test("Of a list none is dropped where one is with a worker; a dropped task says so in its row")
    func dropped() async throws {
        try await TestScheduler.with { test in
            try await add(4, to: test)
            let held = try #require(try await test.reserve("mails").first)
            let delayed = try #require(try await test.reserve("mails").first)
            _ = try await release(delayed, "1h", test)
            let ready = try await test.tasks().filter { $0.state == .ready }.map(\.fire)
            let refused = await reason { _ = try await drop(.fires(ready + [held.fire]), test) }
            #expect(refused == .conflict)
            let unknown = FireID(rawValue: 999)
            let missed = await reason { _ = try await drop(.fires(ready + [unknown]), test) }
            #expect(missed == .notFound)
            #expect(try await test.queue("mails")?.ready == 2)
            #expect(try await drop(.queue("mails", state: .ready, count: 1), test) == 1)
            #expect(try await drop(.queue("mails", state: .delayed, count: nil), test) == 1)
            #expect(try await drop(.fires([ready[1]]), test) == 1)
            #expect(try await test.tasks().map(\.fire) == [held.fire])
            #expect(test.sink.all(.fireSkipped).map(\.reason) == ["dropped", "dropped", "dropped"])
            #expect(await TestScheduler.isLeaseLost { try await test.finish(delayed) })
            #expect(try await test.finish(held).state == .done)
        }
    }

    @Test("A list of dead tasks is retried as a whole, or not at all")
    func retried() async throws {
        try await TestScheduler.with { test in
            try await add(3, to: test)
            let tasks = try await test.reserve("mails", count: 2)
            for task in tasks { #expect(try await test.fail(task).state == .dead) }
            let other = try #require(try await test.tasks().first { $0.state == .ready }?.fire)
            func retry(_ fires: [FireID]) async throws -> Int {
                try await test.scheduler.care(TestScheduler.root) {
                    try $0.retry(.fires(fires), TestScheduler.root)
                }
            }
            let refused = await reason { _ = try await retry(tasks.map(\.fire) + [other]) }
            #expect(refused == .conflict)
            #expect(try await test.queue("mails")?.dead == 2)
            #expect(try await retry(tasks.map(\.fire)) == 2)
            #expect(try await test.queue("mails")?.ready == 3)
        }
    }

    @Test("To another user a task is not there: it is neither told of, nor finished, nor dropped")
    func others() async throws {
        try await TestScheduler.with { test in
            try await add(2, to: test, owner: 1000)
            try await add(1, to: test, owner: 1001)
            func reserve(_ owner: UInt32) async throws -> [QueuedTask] {
                let order = ReserveOrder(
                    owner: Owner(uid: owner),
                    queues: ["mails"],
                    count: 1,
                    lease: .seconds(60)
                )
                return try await test.scheduler.reserve(
                    order,
                    wait: .zero,
                    life: nil,
                    isTied: false
                )
            }
            let task = try #require(try await reserve(1000).first)
            let reference = try #require(task.reference)
            let other = Caller(uid: 1001, isAdministrator: false)
            let unknown = TaskReference(fire: FireID(rawValue: 999), token: reference.token)
            func finish(_ reference: TaskReference, _ caller: Caller) async throws {
                _ = try await test.scheduler.tell(
                    [reference],
                    isList: false,
                    fire: \.fire,
                    caller: caller
                ) { try $0.finish($1, caller) }
            }
            for reference in [reference, unknown] {
                #expect(await reason { try await finish(reference, other) } == .notFound)
            }
            for fires in [[task.fire], [unknown.fire]] {
                let refused = await reason {
                    _ = try await test.scheduler.care(other) {
                        try $0.drop(.fires(fires), other)
                    }
                }
                #expect(refused == .notFound)
            }
            // A queue of the same name is another one.
            let own = try #require(try await reserve(1001).first)
            #expect(own.job != task.job)
            #expect(try await reserve(1001).isEmpty)
            try await finish(reference, Caller(uid: 1000, isAdministrator: false))
        }
    }

    @Test("Each task of a list is looked at by itself, wherever the bad ones stand")
    func lists() async throws {
        try await TestScheduler.with { test in
            try await add(3, to: test)
            let tasks = try await test.reserve("mails", count: 3).compactMap(\.reference)
            let list = [
                TaskReference(fire: FireID(rawValue: 999), token: tasks[0].token), tasks[0],
                TaskReference(fire: tasks[1].fire, token: tasks[2].token), tasks[0], tasks[2],
            ]
            let told = try await test.scheduler.tell(
                list,
                isList: true,
                fire: \.fire,
                caller: TestScheduler.root
            ) { try $0.finish($1, TestScheduler.root) }
            #expect(told.map(\.fire) == list.map(\.fire))
            #expect(told.map(\.state) == [nil, .done, nil, .done, .done])
            #expect(
                told.map { $0.error?.error.reason } == [.notFound, nil, .leaseLost, nil, nil]
            )
            #expect(try await test.tasks().map(\.fire) == [tasks[1].fire])
        }
    }

    @Test("Beyond maxBytesPerUser jobs are refused: one whose task is not over makes no room")
    func bytes() async throws {
        var keeping = TestScheduler.Keeping()
        keeping.limits.maxBytesPerUser = 1 << 20
        try await TestScheduler.with(keeping: keeping) { test in
            let caller = Caller(uid: 1000, isAdministrator: false)
            func add() async throws {
                var definition = JobDefinition(schedule: ScheduleWords(in: "0s"))
                definition.queue = "mails"
                definition.userInfo = JSONText(
                    stored: "\"" + String(repeating: "x", count: 60_000) + "\""
                )
                let new = try NewJob(definition, owner: 1000, at: test.clock.now(), zone: .utc)
                _ = try await test.scheduler.add([new], replace: false, caller: caller)
            }
            var count = 0
            var refused: ControlError.Reason?
            while refused == nil, count < 40 {
                refused = await reason { try await add() }
                if refused == nil { count += 1 }
            }
            #expect(refused == .limitReached)
            let refusal = await #expect(throws: ControlError.self) { try await add() }
            let words = /has (\d+) bytes stored, with this it would be (\d+), .*, which is 1048576;/
            let match = try #require(refusal?.message.firstMatch(of: words))
            let (before, after) = try (#require(Int(match.1)), #require(Int(match.2)))
            #expect(before > 1_000_000 && before <= 1 << 20 && after > 1 << 20)
            try await test.advance(by: .seconds(3600))
            let queue = try #require(try await test.queue("mails"))
            #expect(queue.ready == count && count > 10)
            let order = ReserveOrder(
                owner: Owner(uid: 1000),
                queues: ["mails"],
                count: 1,
                lease: .seconds(60)
            )
            let task = try #require(
                try await test.scheduler.reserve(order, wait: .zero, life: nil, isTied: false).first
            )
            _ = try await test.finish(task)
            #expect(await reason { try await add() } == nil, "one that is over does")
        }
    }
}

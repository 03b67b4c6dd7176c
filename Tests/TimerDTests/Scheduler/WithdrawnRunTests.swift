// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Locks
import Schedules
import Testing
import TimerControl

@testable import LinuxSystem
@testable import Runner
@testable import TimerD

/// Nothing begins after an answered invalidation, however far a run has come without a process.
@Suite("Runs that are withdrawn before they begin", .timeLimit(.minutes(2)))
struct WithdrawnRunTests {
    /// PAM, which takes as long as a test wants.
    private final class SlowPermission: Sendable {
        private let asked = Locked(0)
        private let answer = DispatchSemaphore(value: 0)

        var askedCount: Int { asked.withLock { $0 } }

        var accounts: Accounts {
            Accounts(
                find: { uid throws(StartRefusal) in
                    Account(
                        uid: uid,
                        gid: uid,
                        groups: [uid],
                        name: "ann",
                        home: "/",
                        shell: "/bin/sh"
                    )
                },
                permission: { _ throws(StartRefusal) in
                    self.asked.withLock { $0 += 1 }
                    self.answer.wait()
                    self.answer.signal()
                }
            )
        }

        func say() { answer.signal() }
    }

    @Test(
        "A run that has its place and is still at PAM does not begin once its job was ended",
        arguments: ["invalidate", "kill", "apply"]
    )
    func atPermission(way: String) async throws {
        let permission = SlowPermission()
        try await TestScheduler.with(accounts: permission.accounts) { test in
            let ann = Owner(uid: 1001, name: "ann")
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            definition.command = ["x"]
            definition.retries = 3
            let new = try NewJob(definition, owner: ann, at: test.clock.now(), zone: .utc)
            let caller = Caller(ann, daemon: 0)
            let job = try await test.scheduler.add([new], replace: false, caller: caller)[0].id
            let handler = test.handler()
            _ = try await handler.handle(.fireJob(.id(job)), from: ann).get()
            while permission.askedCount == 0 { await Task.yield() }
            let end: Request =
                way == "apply"
                ? .applyJobs(ApplyJobs(invalidate: [job]))
                : .invalidateJobs(InvalidateJobs(.ids([job]), kill: way == "kill"))
            _ = try await handler.handle(end, from: ann).get()
            permission.say()
            let run = try #require(try await test.history(job).first)
            #expect(test.runner.requests.isEmpty, "its command has begun")
            #expect(run.outcome == .notStarted, "\(run)")
            #expect(run.error == "it was ended before it began")
            #expect(run.nextAttemptAt == nil && run.state == .done)
        }
    }

    @Test(
        "A run of a job that another has the place of does not begin, and the answer waits to know that",
        arguments: ["a tied job by add", "an unreadable job by apply"]
    )
    func replaced(way: String) async throws {
        let permission = SlowPermission()
        try await TestScheduler.with(accounts: permission.accounts) { test in
            let ann = Owner(uid: 1001, name: "ann")
            var caller = Caller(ann, daemon: 0)
            caller.life = ConnectionLife()
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            (definition.name, definition.command) = ("a", ["x"])
            let other = try NewJob(definition, owner: ann, at: test.clock.now(), zone: .utc)
            let isTied = way.contains("tied")
            if isTied { definition.whileConnected = true }
            let new = try NewJob(definition, owner: ann, at: test.clock.now(), zone: .utc)
            let job = try await test.scheduler.add([new], replace: false, caller: caller)[0].id
            _ = try await test.handler().handle(.fireJob(.id(job)), from: ann).get()
            while permission.askedCount == 0 { await Task.yield() }
            if isTied {
                _ = try await test.scheduler.add([other], replace: true, caller: caller)
            } else {
                let damage = """
                    UPDATE job_definitions SET definition = json_set(definition, '$.weather', 'dry')
                    WHERE job_id = ?1
                    """
                try await test.store.writer.write { try $0.prepare(damage).run(job) }
                let changes = JobChanges(
                    invalidate: [],
                    change: [.init(id: job, to: other)],
                    add: []
                )
                _ = try await test.scheduler.apply(changes, caller: caller)
            }
            #expect(test.runner.awaited.contains { !$0.runs.isEmpty && !$0.whereOffered })
            permission.say()
            try await test.settle()
            #expect(test.runner.requests.isEmpty, "its command has begun")
            #expect(try await test.job(job).endReason == .replaced)
        }
    }

    @Test("A command that was withdrawn has no process, and the runner's next one has")
    func runner() async throws {
        let folder = try TemporaryDirectory()
        let test = try TestRunner()
        let request = TestRunner.script("touch \(folder.path)/file")
        #expect(request.start.withdraw())
        let result = await test.run(request)
        #expect(result.outcome == .notStarted("it was ended before it began"))
        #expect(access("\(folder.path)/file", F_OK) == -1)
        let other = TestRunner.script("touch \(folder.path)/file")
        #expect(await test.run(other).outcome == .exited(0))
        #expect(!other.start.withdraw(), "it has begun")
        #expect(access("\(folder.path)/file", F_OK) == 0)
    }

    @Test(
        "A command that may have begun is not withdrawn, and it is known that somebody wanted that"
    )
    func mayHaveBegun() {
        let start = RunStart(hasBegun: true)
        #expect(!start.isWithdrawn)
        #expect(!start.withdraw(), "it may have begun")
        #expect(start.isWithdrawn)
    }

    @Test(
        "A command whose order was lost does not begin where its job was ended and restored meanwhile"
    )
    func lostOrder() async throws {
        try await TestScheduler.with { test in
            let gate = Gate()
            test.runner.orderGate = gate
            let job = try await test.add(ScheduleWords(every: "1h"), command: ["x"])
            try await test.advance(by: .seconds(3601))
            try await test.change(job.id, .invalidate)
            try await test.jobs(.restoreJobs(.ids([job.id])))
            test.runner.orderGate = nil
            gate.open()
            try await test.settle()
            #expect(test.runner.requests.isEmpty)
            let runs = try await test.history(job.id).filter { $0.id != nil }
            #expect(runs.map(\.outcome) == [.notStarted])
            #expect(runs.map(\.error) == [StartRefusal.withdrawn.message])
            #expect(try await test.job(job.id).state == .scheduled)
        }
    }

    @Test("A one-shot that is fired by hand and ended then does not begin any more")
    func byHandThenEnded() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "1h"), command: ["once"])
            try await test.settle()
            let gate = Gate()
            test.runner.startGate = gate
            let (fired, fire) = try await test.scheduler.fire(
                .id(job.id),
                caller: TestScheduler.root
            )
            try await test.change(job.id, .invalidate)
            gate.open()
            #expect(fired.state == .finished)
            let history = try await test.history(job.id)
            #expect(history.map(\.fire) == [fire])
            #expect(history.map(\.outcome) == [.notStarted])
            #expect(history.map(\.error) == ["it was ended before it began"])
            #expect(test.runner.requests.isEmpty)
            #expect(try await test.job(job.id).endReason == .invalidated)
            #expect(await test.scheduler.measures().counters.runs == ["notStarted": 1])
        }
    }

    @Test("A run that a change ends, whose command was not asked for yet, is counted as it is told")
    func counted() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "1h"), command: ["x"])
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            let fire = try #require(try await test.history(job.id).first).fire
            // As a change finds it that comes between the row of the run and its order.
            try await test.scheduler.write(unstarted: [fire]) { writer in
                guard var job = try writer.job(job.id) else { return }
                try writer.end(&job, .invalidated, .invalidated)
                try writer.put(job)
            }
            #expect(test.sink.all(.runFinished).map(\.outcome) == [.notStarted])
            #expect(await test.scheduler.measures().counters.runs == ["notStarted": 1])
        }
    }

    @Test(
        "A calendar has what was ended before it began as skipped, and as failed where an attempt was before it",
        arguments: [1, 2]
    )
    func calendar(attempt: Int) async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "1h"), command: ["x"]) {
                ($0.retries, $0.backoff) = (1, "1s..1s")
            }
            let (_, fire) = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            try await test.settle()
            if attempt == 2 {
                test.runner.end(.exited(1))
                try await test.advance(by: .seconds(2))
            }
            try await test.scheduler.write(unstarted: [fire]) { writer in
                guard var job = try writer.job(job.id) else { return }
                try writer.end(&job, .invalidated, .invalidated)
                try writer.put(job)
            }
            #expect(test.sink.all(.runFinished).map(\.outcome).last == .notStarted)
            let day = ReadCalendar(
                from: TestScheduler.start,
                before: TestScheduler.start + .hours(24),
                bucket: .hour
            )
            let answer = try await test.handler().handle(.runCalendar(day), from: 0).get()
            let buckets = try #require(answer as? RunCalendarReply).buckets
            let counts = buckets.reduce(into: DueCounts()) { $0 += $1.counts }
            #expect(counts.skipped == (attempt == 1 ? 1 : 0))
            #expect(counts.failed == (attempt == 1 ? 0 : 1))
            #expect(counts.succeeded == 0)
        }
    }
}

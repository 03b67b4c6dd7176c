// SPDX-License-Identifier: Apache-2.0

import Locks
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("Runs by the scheduler", .timeLimit(.minutes(2)))
struct SchedulerRunTests {
    @Test("A fire with a command is a run: stored, started, told, and in the history")
    func run() async throws {
        try await TestScheduler.with { test in
            // No form that this daemon would write.
            let info = try JSONText(parsing: #"{"b": 1e2, "a":18446744073709551616}"#)
            let job = try await test.add(ScheduleWords(in: "5s"), command: ["backup", "-v"]) {
                $0.name = "nightly"
                $0.userInfo = info
                $0.env = ["LEVEL": "3"]
            }
            try await test.advance(by: .seconds(6))
            let request = try #require(test.runner.requests.first)
            #expect(test.runner.requests.count == 1)
            #expect(request.argv == ["backup", "-v"])
            #expect(request.input == Array(#"{"b": 1e2, "a":18446744073709551616}"#.utf8))
            #expect(test.sink.all(.fireFired).map(\.userInfo) == [info])
            #expect(request.environment["TIMERD_JOB_ID"] == "\(job.id)")
            #expect(request.environment["TIMERD_JOB_NAME"] == "nightly")
            #expect(request.environment["TIMERD_FIRE_DATE"] == "2026-12-01T08:00:05.000000Z")
            #expect(request.environment["LEVEL"] == "3")
            let types = test.sink.all.map(\.type)
            #expect(
                types == [.jobAdded, .fireFired, .jobFinished, .runStarted, .runFinished]
                    || types == [.jobAdded, .fireFired, .runStarted, .jobFinished, .runFinished]
                    || types == [.jobAdded, .fireFired, .runStarted, .runFinished, .jobFinished]
            )
            let run = try #require(try await test.history(job.id).first)
            #expect(run.state == .done)
            #expect(run.outcome == .exited)
            #expect(run.status == 0)
            #expect(run.startedAt == TestScheduler.start + .seconds(5))
            #expect(run.userTime == 1.5)
            #expect(run.systemTime == 0.25)
            #expect(run.peakMemory == 8192)
        }
    }

    @Test("A date that comes while a run is in progress is skipped, and says so")
    func overlap() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["slow"])
            try await test.advance(by: .seconds(25))
            #expect(test.runner.requests.count == 1)
            test.runner.end()
            try await test.advance(by: .seconds(10))
            #expect(test.runner.requests.count == 2)
            let history = try await test.history(job.id)
            #expect(history.map(\.state) == [.done, .skipped, .running])
            #expect(history[1].reason == .overlap)
            #expect(test.sink.all(.fireSkipped).map(\.reason) == ["overlap"])
            #expect(test.sink.all(.fireSkipped).map(\.run) == [history[0].id])
            test.runner.end()
        }
    }

    @Test("Missed dates that are all made up for run one after the other, oldest first")
    func madeUpFor() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["slow"]) {
                $0.misfire = .all
            }
            test.stall(.seconds(34))
            try await test.advance(by: .seconds(0))
            for expected in 1...3 {
                #expect(test.runner.requests.count == expected)
                test.runner.end()
                try await test.advance(by: .seconds(0))
            }
            #expect(
                test.runner.requests.map { $0.environment["TIMERD_MISSED"] } == ["1", "1", "0"]
            )
            #expect(test.fired(job.id) == [10, 20, 30])
        }
    }

    @Test("PAM is asked about a command's owner ahead of its date, not first when it is due")
    func askedAhead() async throws {
        let (asked, question) = AsyncStream.makeStream(of: String.self)
        let accounts = Accounts(permission: { account throws(StartRefusal) in
            question.yield(account.name)
        })
        try await TestScheduler.with(accounts: accounts) { test in
            let job = try await test.add(ScheduleWords(in: "5s"), command: ["x"])
            try await test.advance(by: .milliseconds(4995))
            #expect(try await test.history(job.id).map(\.state) == [.running], "it is prepared")
            #expect(await asked.first { _ in true } == "me")
            #expect(test.runner.requests.isEmpty, "its date has not come")
        }
    }

    @Test("A command waits while PAM cannot be asked for want of descriptors, and then begins")
    func withoutDescriptors() async throws {
        let lacks = Locked(true)
        let words = "cannot ask PAM whether account 'me' may run commands: too many open files"
        let accounts = Accounts(permission: { _ throws(StartRefusal) in
            if lacks.withLock({ $0 }) { throw StartRefusal(words, on: .shortage) }
        })
        try await TestScheduler.with(accounts: accounts) { test in
            let job = try await test.add(ScheduleWords(in: "5s"), command: ["x"])
            try await test.advance(by: .seconds(8))
            #expect(try await test.history(job.id).map(\.state) == [.waiting])
            #expect(test.runner.requests.isEmpty)
            let trouble = await test.scheduler.runnerTrouble
            #expect(trouble == "timerd lacks descriptors or memory: \(words)")
            lacks.withLock { $0 = false }
            try await test.advance(by: .seconds(2))
            #expect(test.runner.requests.count == 1)
            #expect(await test.scheduler.runnerTrouble == nil)
        }
    }

    @Test("A command that was prepared ahead of its date is not started once it is invalidated")
    func invalidatedWhilePrepared() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "5s"), command: ["never"])
            try await test.advance(by: .milliseconds(4_995))
            #expect(try await test.history(job.id).map(\.state) == [.running], "it is prepared")
            try await test.change(job.id, .invalidate)
            try await test.advance(by: .seconds(10))
            #expect(test.runner.requests.isEmpty)
            #expect(try await test.history(job.id).isEmpty)
        }
    }

    @Test("A command that is moved while it is prepared runs at its new date alone")
    func movedWhilePrepared() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "5s"), command: ["later"])
            try await test.advance(by: .milliseconds(4_995))
            try await test.change(job.id, .setFireDate(TestScheduler.start + .seconds(8)))
            try await test.advance(by: .seconds(10))
            #expect(test.fired(job.id) == [8])
            #expect(test.runner.requests.count == 1)
        }
    }

    @Test("A job whose command runs is not fired by hand as well")
    func byHandWhileRunning() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["slow"])
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            try await test.settle()
            let error = await #expect(throws: ControlError.self) {
                _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            }
            #expect(error?.reason == .conflict)
            #expect(test.runner.requests.count == 1)
            test.runner.end()
        }
    }

    @Test("A fire by hand is refused with the number of the run in the way once that has begun")
    func byHandWhileStarting() async throws {
        try await TestScheduler.with { test in
            let gate = Gate()
            (test.runner.startGate, test.runner.isHolding) = (gate, true)
            let job = try await test.add(ScheduleWords(every: "1h"), command: ["slow"])
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            while await test.scheduler.fires.running < 1 { await Task.yield() }
            let early = await #expect(throws: ControlError.self) {
                _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            }
            #expect(early?.message.contains("waits for a place, for its start") == true)
            gate.open()
            while test.runner.heldCount < 1 { await Task.yield() }
            let run = try #require(try await test.history(job.id).last?.id)
            let late = await #expect(throws: ControlError.self) {
                _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            }
            #expect(late?.message.contains("is running (run \(run))") == true)
            test.runner.end()
        }
    }

    @Test("A run's command may invalidate its own job, and goes on")
    func invalidatesItself() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["self"])
            try await test.advance(by: .seconds(11))
            try await test.change(job.id, .invalidate)
            test.runner.end(.exited(3))
            try await test.advance(by: .seconds(60))
            #expect(test.runner.requests.count == 1)
            let run = try #require(try await test.history(job.id).first)
            #expect(run.status == 3)
        }
    }

    @Test("Resumed or fired by hand while its run is prepared, a job has that run prepared still")
    func preparedOnce() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "5s"), command: ["x"])
            try await test.advance(by: .milliseconds(4_995))
            try await test.change(job.id, .resume)
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            try await test.advance(by: .seconds(3))
            #expect(test.fired(job.id) == [4, 5])
            #expect(try await test.history(job.id).map(\.outcome) == [.exited, .exited])
        }
    }
}

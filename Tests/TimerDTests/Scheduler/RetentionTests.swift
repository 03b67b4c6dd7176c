// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("What is kept, and how long", .timeLimit(.minutes(3)))
struct RetentionTests {
    typealias Keeping = TestScheduler.Keeping

    static func count(_ test: TestScheduler, _ query: String) async throws -> Int {
        try await test.settle()
        return try await test.store.reader.read { try $0.prepare(query).value() } ?? 0
    }

    /// At most so many rows of one job, whose history keeps `runs`: it is cut when it has grown by
    /// some, next to it stands its claim, and what is forgotten takes a few rows.
    static func rowLimit(_ runs: Int) -> Int {
        runs + JobTransaction.trimInterval + 1 + JobTransaction.rangeLimit
    }

    private static func one<T>(of choices: [T], _ dice: inout Dice) -> T {
        choices[Int.random(in: choices.indices, using: &dice)]
    }

    static func step(_ test: TestScheduler, _ span: TimeSpan) async throws {
        test.clock.step(by: span)
        _ = await test.scheduler.clockStepped()
        try await test.settle()
    }

    @Test(
        "A job keeps its newest fires, whatever it fires by",
        arguments: [ScheduleWords(every: "1s"), ScheduleWords(cron: "* * * * * *")]
    )
    func newestFires(words: ScheduleWords) async throws {
        try await TestScheduler.with(keeping: Keeping(runs: 20)) { test in
            let job = try await test.add(words)
            try await test.advance(by: .seconds(200))
            let rows = try await Self.count(test, "SELECT count(*) FROM fires")
            #expect(20...Self.rowLimit(20) ~= rows)
            let history = try await test.history(job.id)
            #expect(history.last?.fireDate == TestScheduler.start + .seconds(200))
            #expect(history.count >= 20)
            #expect(test.fired(job.id) == Array(1...200))
        }
    }

    @Test("Skipped dates are part of the history and are bounded with it; a run that goes on stays")
    func skippedDates() async throws {
        try await TestScheduler.with(keeping: Keeping(runs: 20)) { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "1s"), command: ["x"])
            try await test.advance(by: .seconds(100))
            #expect(try await Self.count(test, "SELECT count(*) FROM fires") <= Self.rowLimit(21))
            #expect(try await test.history(job.id).first?.state == .running)
            test.runner.end()
            try await test.advance(by: .seconds(1))
            #expect(try await test.history(job.id).first?.outcome == .exited)
        }
    }

    @Test("A run that has ended is kept, however many dates were skipped while it went on")
    func skippedMeanwhile() async throws {
        try await TestScheduler.with(keeping: Keeping(runs: 5)) { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "1s"), command: ["x"])
            // More than a write looks at.
            try await test.advance(by: .seconds(400))
            test.runner.end(.exited(9))
            try await test.advance(by: .seconds(400))
            let runs = try await test.history(job.id).filter { $0.id != nil }
            #expect(runs.map(\.status) == [9, nil])
            #expect(try await Self.count(test, "SELECT count(*) FROM fires") <= Self.rowLimit(7))
            // Until newer runs take its place.
            test.runner.isHolding = false
            test.runner.end()
            try await test.advance(by: .seconds(50))
            let later = try await test.history(job.id)
            #expect(!later.contains { $0.status == 9 })
            #expect(try await Self.count(test, "SELECT count(*) FROM fires") <= Self.rowLimit(6))
        }
    }

    @Test("Where each run outlasts the next dates, few rows are left of what was forgotten")
    func rangesBetweenRuns() async throws {
        try await TestScheduler.with(keeping: Keeping(runs: 10)) { test in
            test.runner.isHolding = true
            _ = try await test.add(ScheduleWords(cron: "* * * * * *"), command: ["x"])
            for _ in 0..<150 {
                try await test.advance(by: .milliseconds(2500))
                test.runner.end()
            }
            let ranges = "SELECT count(*) FROM fires WHERE state = 'forgotten'"
            #expect(try await Self.count(test, ranges) <= 10 + JobTransaction.rangeLimit + 1)
            let rows = try await Self.count(test, "SELECT count(*) FROM fires")
            #expect(rows <= 3 * Self.rowLimit(10))
            test.runner.isHolding = false
            test.runner.end()
            try await test.settle()
        }
    }

    @Test("What onFailure runs takes no run's place in the history, and goes with its own")
    func handlers() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = { $0.argv == ["x"] ? .exited(9) : .exited(0) }
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["x"]) {
                ($0.keepRuns, $0.onFailure) = (1, ["alert"])
            }
            for seconds in [11, 10, 10] {
                try await test.advance(by: .seconds(Int64(seconds)))
                let runs = try await test.history(job.id).filter { $0.id != nil }
                #expect(runs.map(\.status) == [9, 0])
                #expect(runs.map(\.handler) == [nil, .onFailure])
                #expect(Set(runs.map(\.fire)).count == 1)
            }
        }
    }

    @Test("A run that outlasts a hundred newer ones of its job is recorded when it ends")
    func longRun() async throws {
        try await TestScheduler.with(keeping: Keeping(runs: 5)) { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "1s"), command: ["x"]) {
                $0.overlap = .allow
            }
            try await test.advance(by: .milliseconds(1500))
            test.runner.isHolding = false
            try await test.advance(by: .seconds(100))
            #expect(try await Self.count(test, "SELECT count(*) FROM runs") <= 7)
            #expect(try await test.history(job.id).first?.state == .running)
            test.runner.end()
            try await test.settle()
            #expect(try await Self.count(test, "SELECT count(*) FROM runs") <= 6)
            #expect(
                try await Self.count(test, "SELECT count(*) FROM fires WHERE state = 'running'")
                    == 0
            )
        }
    }

    @Test("A date whose row was forgotten does not fire again where the clock is set back")
    func noDateTwice() async throws {
        try await TestScheduler.with(keeping: Keeping(runs: 5)) { test in
            let job = try await test.add(ScheduleWords(cron: "* * * * * *"))
            try await test.advance(by: .seconds(100))
            try await Self.step(test, .seconds(-90))
            try await test.advance(by: .seconds(95))
            #expect(test.fired(job.id) == Array(1...105))
        }
    }

    @Test("Nor where its job had ended by then, and its end was undone")
    func noDateTwiceAfterUndo() async throws {
        var keeping = Keeping()
        keeping.limits.historyMaxAge = .seconds(60)
        keeping.limits.doubt = .seconds(60)
        try await TestScheduler.with(keeping: keeping) { test in
            let job = try await test.add(ScheduleWords(cron: "* * * * * *"))
            try await test.advance(by: .seconds(100))
            try await test.change(job.id, .invalidate)
            try await test.advance(by: .seconds(300))
            let ranges = "SELECT count(*) FROM fires WHERE state = 'forgotten'"
            #expect(try await Self.count(test, ranges) > 0)
            _ = try await test.scheduler.restore(.ids([job.id]), caller: TestScheduler.root)
            try await Self.step(test, .seconds(-380))
            try await test.advance(by: .seconds(200))
            let fired = test.fired(job.id)
            #expect(Set(fired).count == fired.count)
            #expect(Set(1...200).isSubset(of: fired))
        }
    }

    @Test("A job whose rows were forgotten while the clock was years ahead fires by the right time")
    func yearsAhead() async throws {
        try await TestScheduler.with(keeping: Keeping(runs: 5)) { test in
            let job = try await test.add(ScheduleWords(cron: "* * * * * *"))
            try await test.advance(by: .seconds(50))
            let years: Int64 = 4 * 31_557_600
            try await Self.step(test, .seconds(years))
            try await test.advance(by: .seconds(100))
            try await Self.step(test, .seconds(-years - 20))
            try await test.advance(by: .seconds(30))
            let late = test.fired(job.id).filter { $0 < years }
            #expect(late == Array(1...50) + Array(131...160))
        }
    }

    @Test("Whatever the clock does, no date fires twice", arguments: 1...6)
    func randomSteps(seed: UInt64) async throws {
        try await TestScheduler.with(keeping: Keeping(runs: 5)) { test in
            var dice = Dice(seed: seed)
            let cron = try await test.add(ScheduleWords(cron: "* * * * * *"))
            let grid = try await test.add(ScheduleWords(every: "3s", from: "now"))
            for _ in 0..<25 {
                switch Self.one(of: [0, 1, 2, 3], &dice) {
                case 0:
                    try await Self.step(
                        test,
                        .seconds(Self.one(of: [-200, -60, -7, 5, 40], &dice))
                    )
                case 1:
                    try await test.change(cron.id, .pause)
                    try await test.advance(by: .seconds(Self.one(of: [2, 30], &dice)))
                    try await test.change(cron.id, .resume)
                case 2: test.stall(.seconds(Self.one(of: [1, 10, 90], &dice)))
                default: try await test.advance(by: .seconds(Self.one(of: [5, 30, 60], &dice)))
                }
            }
            try await test.advance(by: .seconds(400))
            for job in [cron.id, grid.id] {
                let fired = test.fired(job)
                #expect(Set(fired).count == fired.count)
                #expect(fired.count > 100)
            }
            #expect(
                try await Self.count(test, "SELECT count(*) FROM fires") <= 2 * Self.rowLimit(5)
            )
        }
    }

    @Test("History that is too old goes, with its runs, and the job stays")
    func historyAge() async throws {
        var keeping = Keeping()
        keeping.limits.historyMaxAge = .seconds(86_400)
        try await TestScheduler.with(keeping: keeping) { test in
            let job = try await test.add(ScheduleWords(every: "1h"), command: ["x"])
            try await test.advance(by: .seconds(86_400 * 3))
            let history = try await test.history(job.id)
            #expect(23...25 ~= history.count)
            #expect(try await Self.count(test, "SELECT count(*) FROM runs") == history.count)
            #expect(try await test.job(job.id).fires == 72)
        }
    }

    @Test("Ended jobs stay visible until the retention time has passed, then all of them is gone")
    func endedJobs() async throws {
        var keeping = Keeping()
        keeping.limits.endedJobsMaxAge = .seconds(3600)
        keeping.limits.eventsMaxAge = .seconds(600)
        try await TestScheduler.with(keeping: keeping) { test in
            for number in 0..<30 {
                try await test.add(ScheduleWords(in: "\(number + 1)s"), command: ["x"]) {
                    $0.tags = ["night", "n\(number)"]
                    $0.name = "n\(number)"
                }
            }
            let lives = try await test.add(ScheduleWords(every: "1d")) { $0.tags = ["night"] }
            try await test.advance(by: .seconds(3600))
            #expect(try await Self.count(test, "SELECT count(*) FROM jobs") == 31)
            try await test.advance(by: .seconds(200))
            for table in ["jobs", "job_definitions", "job_tags"] {
                #expect(
                    try await Self.count(test, "SELECT count(*) FROM \(table)") == 1,
                    "\(table)"
                )
            }
            #expect(try await Self.count(test, "SELECT count(*) FROM runs") == 0)
            #expect(try await test.job(lives.id).state == .scheduled)
        }
    }

    @Test("A job with a run in progress stays until that is over")
    func endedJobStillRuns() async throws {
        var keeping = Keeping()
        keeping.limits.endedJobsMaxAge = .seconds(3600)
        keeping.limits.eventsMaxAge = .seconds(3600)
        try await TestScheduler.with(keeping: keeping) { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(in: "1s"), command: ["x"])
            try await test.advance(by: .seconds(8000))
            #expect(try await test.job(job.id).state == .finished)
            test.runner.end()
            try await test.advance(by: .seconds(4000))
            #expect(try await Self.count(test, "SELECT count(*) FROM jobs") == 0)
        }
    }

    @Test(
        "With nothing to remove the daemon is woken for no look: the next one is a retention time away"
    )
    func sleeps() async throws {
        try await TestScheduler.with { test in
            try await test.advance(by: .seconds(120))
            let date = await test.scheduler.retention.date
            #expect(try #require(date) > test.clock.now().elapsed + .seconds(29 * 86_400))
        }
    }

    @Test(
        "A start looks at once for what is too much, an hour later for what is too old, and for neither where nothing is kept"
    )
    func firstLook() async throws {
        let folder = try TemporaryFolder()
        let first = try await TestScheduler(folder: folder.path)
        let start = first.clock.now().elapsed
        #expect(await first.scheduler.retention.date == start + .seconds(30 * 86_400))
        try await first.add(ScheduleWords(in: "1h"))
        let machine = first.clock.machine
        try await first.close()
        let second = try await TestScheduler(folder: folder.path, machine: machine)
        let now = second.clock.now().elapsed
        #expect(await second.scheduler.retention.date == now)
        try await second.advance(by: .seconds(1))
        #expect(await second.scheduler.retention.date == now + .seconds(3600))
        try await second.close()
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("ArmedJob") struct ArmedJobTests {
    static let run = RunID(rawValue: 5)

    /// A job every 10 s, first due at 10, that is looked at `at` seconds after the start.
    struct Row: Sendable, CustomTestStringConvertible {
        var at: Double
        var isCommand = true
        var stage = ArmedJob.Stage.waiting
        var isRunning = false
        var isQueued = false
        var overlap = JobDefinition.Overlap.skip
        var misfire = JobDefinition.Misfire.once
        /// Changes what is claimed.
        var change: @Sendable (inout StoredJob) -> Void = { _ in }
        var expected: ArmedJob.Step

        var testDescription: String {
            "\(isCommand ? "command" : "event") at \(at), \(stage), \(overlap), \(misfire)"
                + (isRunning ? ", running" : "") + (isQueued ? ", queued" : "")
        }
    }

    static let settled: @Sendable (inout StoredJob) -> Void = { $0.claim?.isPast = true }

    static let rows = [
        // An event waits for its date, and fires.
        Row(at: 9.999, isCommand: false, expected: .wait),
        Row(at: 10, isCommand: false, expected: .fire),
        Row(at: 19.999, isCommand: false, expected: .fire),
        Row(at: 20, isCommand: false, expected: .resolveAgain),
        Row(at: 20, isCommand: false, change: settled, expected: .fire),
        Row(at: 99, isCommand: false, change: { $0.claim?.isRedelivery = true }, expected: .fire),
        Row(at: 10, isCommand: false, change: { $0.claim = nil }, expected: .wait),
        // A command's row is written ten milliseconds ahead, unless it could not begin.
        Row(at: 9.989, expected: .wait),
        Row(at: 9.99, expected: .prepare),
        Row(at: 9.99, isRunning: true, expected: .wait),
        Row(at: 9.99, isRunning: true, overlap: .allow, expected: .prepare),
        Row(at: 9.995, stage: .preparing(isDue: false), expected: .wait),
        Row(at: 9.995, stage: .prepared(run, RunPlace()), expected: .wait),
        Row(at: 10, expected: .fire),
        Row(at: 10, stage: .preparing(isDue: false), expected: .fire),
        Row(at: 10, stage: .prepared(run, RunPlace()), expected: .fire),
        // What was missed is settled anew; of what was made ready, only what is too late for any fire.
        Row(at: 20, expected: .resolveAgain),
        Row(at: 20, stage: .prepared(run, RunPlace()), expected: .fire),
        Row(at: 70, stage: .prepared(run, RunPlace()), expected: .fire),
        Row(at: 70.001, stage: .prepared(run, RunPlace()), expected: .resolveAgain),
        Row(at: 70.001, stage: .preparing(isDue: true), expected: .resolveAgain),
        Row(at: 70.001, stage: .prepared(run, RunPlace()), change: settled, expected: .fire),
        // A run in progress.
        Row(at: 10, isRunning: true, expected: .skip),
        Row(at: 10, stage: .prepared(run, RunPlace()), isRunning: true, expected: .skip),
        Row(at: 10, isRunning: true, overlap: .queue, expected: .enqueue),
        Row(at: 10, isRunning: true, isQueued: true, overlap: .queue, expected: .skip),
        Row(at: 10, isRunning: true, overlap: .replace, expected: .enqueue),
        Row(at: 10, isRunning: true, isQueued: true, overlap: .replace, expected: .enqueue),
        Row(at: 10, isRunning: true, overlap: .allow, expected: .fire),
        // Of the command that the job had before it was changed: an event waits for no run.
        Row(at: 10, isCommand: false, isRunning: true, expected: .fire),
        // Dates that are made up for one by one wait for each other.
        Row(at: 99, isRunning: true, misfire: .all, change: settled, expected: .waitForRun),
        Row(
            at: 99,
            isRunning: true,
            overlap: .allow,
            misfire: .all,
            change: settled,
            expected: .fire
        ),
        Row(at: 99, isRunning: true, change: settled, expected: .skip),
    ]

    @Test(
        "What to do is decided by the time, how far the fire has come, and what runs",
        arguments: rows
    )
    func step(row: Row) throws {
        var job = try StoredJob.sample {
            $0.command = row.isCommand ? ["x"] : nil
            $0.overlap = row.isCommand ? row.overlap : nil
            $0.misfire = row.misfire
        }
        row.change(&job)
        var armed = ArmedJob(job: job, since: nil)
        armed.stage = row.stage
        let step = armed.step(
            at: .start(row.at),
            isRunning: row.isRunning,
            isQueued: row.isQueued
        )
        #expect(step == row.expected)
    }

    @Test("A command is called ten milliseconds ahead, and at its date once it is made ready")
    func wakeDate() throws {
        var armed = ArmedJob(job: try .sample { $0.command = ["x"] }, since: nil)
        #expect(armed.wakeDate == .start(9.99))
        armed.stage = .prepared(Self.run, RunPlace())
        #expect(armed.wakeDate == .start(10))
        armed.job.fireDate = nil
        #expect(armed.wakeDate == nil)
        #expect(ArmedJob(job: try .sample(), since: nil).wakeDate == .start(10))
    }

    @Test("Armed anew for the same fire, a job has come as far as it had; for another, nowhere")
    func since() throws {
        var before = ArmedJob(job: try .sample { $0.command = ["x"] }, since: nil)
        before.stage = .prepared(Self.run, RunPlace())
        before.hasWaited = true
        #expect(before.unstartedFire == FireID(rawValue: 1))
        #expect(before.share == nil)
        var job = before.job
        let same = ArmedJob(job: job, since: before)
        #expect(same.stage == .prepared(Self.run, RunPlace()))
        #expect(same.hasWaited)
        job.claim?.fire = FireID(rawValue: 2)
        let other = ArmedJob(job: job, since: before)
        #expect(other.stage == .waiting)
        #expect(!other.hasWaited)
        #expect(other.unstartedFire == nil)
        #expect(other.share == 0)
    }

    @Test(
        "A timer may be late by the job's tolerance, and by half of its interval at most",
        arguments: [("3s", 3), ("5s", 5), ("8s", 5)] as [(String, Int64)]
    )
    func tolerance(stated: String, seconds: Int64) throws {
        #expect(try StoredJob.sample { $0.tolerance = stated }.tolerance == .seconds(seconds))
        let daily = try StoredJob.sample(ScheduleWords(cron: "0 9 * * *")) { $0.tolerance = "8s" }
        #expect(daily.tolerance == .seconds(8))
        // Also where the dates are no grid, and the last one has none behind it.
        let cron = try StoredJob.sample(ScheduleWords(cron: "*/2 * * * *")) { $0.tolerance = "1h" }
        #expect(cron.tolerance == .seconds(60))
        let once = try StoredJob.sample(ScheduleWords(in: "10s")) { $0.tolerance = "1h" }
        #expect(once.tolerance == .seconds(3600))
    }

    @Test("With jitter it is half of the time until the next fire is due")
    func toleranceWithJitter() throws {
        for number in 0..<50 {
            var job = try StoredJob.sample { ($0.tolerance, $0.jitter) = ("8s", "10s") }
            job.fireDate = .start(Double(10 * number))
            let dates = job.dates
            let (due, next) = (
                try #require(job.dueDate), dates.due(.start(Double(10 * number + 10)))
            )
            #expect(due + job.tolerance + job.tolerance <= next)
        }
    }

    @Test("What was put off within the tolerance fires, whatever is made of missed dates")
    func putOff() throws {
        let job = try StoredJob.sample(ScheduleWords(in: "10s")) {
            ($0.tolerance, $0.misfireAfter, $0.misfire) = ("3min", "1s", .skip)
        }
        let armed = ArmedJob(job: job, since: nil)
        func step(_ second: Double) -> ArmedJob.Step {
            armed.step(at: .start(second), isRunning: false, isQueued: false)
        }
        #expect(step(191) == .fire)
        #expect(step(191.001) == .resolveAgain)
    }
}

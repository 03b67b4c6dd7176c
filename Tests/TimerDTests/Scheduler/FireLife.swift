// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// One fire, brought to a state, and what a test makes happen to it there.
///
/// Its job fires once a day, at 08:01, so that no other date of it comes within a test: its command is
/// `x`, tried twice, and `notify` where it has failed for good.
struct FireLife {
    /// Where a fire stands as something happens.
    enum Stage: String, CaseIterable, Sendable {
        case eventClaimed, eventFired
        /// Its date comes in three seconds.
        case claimed
        /// Its row says `running`, five milliseconds ahead of its date.
        case ready
        case waitingForPlace, waitingForRun, waitingForRetry, waitingForOnFailure
        case running, runningOnFailure, done
        /// Dropped by its user, ahead of its date.
        case skipped
    }

    /// What happens to it.
    enum Happening: String, CaseIterable, Sendable {
        /// What it waits for by the clock comes: its date, or its next attempt. Else a second passes.
        case date
        /// The run that has the only place ends.
        case place
        /// The job's run in progress ends so; `unstarted`: its command could not be started.
        case success, failure, unstarted
        case invalidate, kill
        case pause
        /// It is paused, and resumed.
        case resume
        case hand, skip
        /// Its next fire is put half a minute behind its date.
        case move
        /// Another job takes its name, with the same schedule and the command `new`.
        case replace
        /// The clock on the wall is set an hour forward, or back.
        case ahead, back
        /// The daemon is stopped, or killed, and started.
        case restart, crash
    }

    /// What became of the fire, in the words of the table.
    struct Outcome: Equatable, CustomStringConvertible {
        /// Its state right after, and once all has ended.
        var states: String
        /// What was started of its job, in order.
        var starts: String
        /// What was told of the fire, in order.
        var told: String

        var description: String { "\(states) | \(starts) | \(told)" }
    }

    static let date = TestScheduler.start + .seconds(60)
    private static let hour = TimeSpan.hours(1)

    private let job: JobID
    /// The daemons, each on what the one before has left.
    private var lives: [TestScheduler]
    private var test: TestScheduler { lives[lives.count - 1] }

    /// What becomes of a fire in `stage` where `happening` comes.
    static func outcome(of stage: Stage, _ happening: Happening) async throws -> Outcome {
        let isFull = [.waitingForPlace, .waitingForOnFailure].contains(stage)
        var outcome: Outcome?
        let keeping = TestScheduler.Keeping(maxRuns: isFull ? 1 : 64)
        try await TestScheduler.with(keeping: keeping) { test in
            test.runner.isHolding = true
            let isEvent = [.eventClaimed, .eventFired].contains(stage)
            let job = try await test.add(
                ScheduleWords(cron: "1 8 * * *"),
                command: isEvent ? nil : ["x"]
            ) {
                $0.name = "job"
                $0.misfire = .skip
                guard !isEvent else { return }
                $0.overlap = stage == .waitingForRun ? .queue : .skip
                $0.onFailure = ["notify"]
                guard ![.waitingForOnFailure, .runningOnFailure].contains(stage) else { return }
                $0.retries = 1
                $0.backoff = "20s..20s"
            }
            var life = FireLife(job: job.id, lives: [test])
            try await life.reach(stage)
            let isRefused = try await life.happen(happening)
            let before = try await life.state()
            try await life.goOn()
            let states = "\(isRefused ? "refused, " : "")\(before) > \(try await life.state())"
            outcome = Outcome(states: states, starts: life.starts(), told: life.told())
            for life in life.lives {
                life.runner.end()
                try await life.close()
            }
        }
        return try #require(outcome)
    }

    // MARK: - The way to a stage

    private func reach(_ stage: Stage) async throws {
        switch stage {
        case .eventClaimed, .claimed: try await test.advance(by: .seconds(57))
        case .ready: try await test.advance(by: .milliseconds(59_995))
        case .eventFired, .running: try await test.advance(by: .seconds(61))
        case .waitingForPlace:
            try await test.add(ScheduleWords(in: "50s"), command: ["other"])
            try await test.advance(by: .seconds(61))
        case .waitingForRun:
            try await test.advance(by: .seconds(50))
            _ = try await test.scheduler.fire(.id(job), caller: TestScheduler.root)
            try await test.advance(by: .seconds(11))
        case .waitingForRetry: try await end(.exited(1))
        case .waitingForOnFailure:
            try await test.add(ScheduleWords(in: "61s"), command: ["other"])
            try await end(.exited(1))
        case .runningOnFailure: try await end(.exited(1))
        case .done: try await end(.exited(0))
        case .skipped:
            try await test.advance(by: .seconds(57))
            try await test.change(job, .skip(1))
        }
        try await test.settle()
    }

    /// Lets the run of the date end so, two seconds after it.
    private func end(_ outcome: RunOutcome) async throws {
        try await test.advance(by: .seconds(62))
        test.runner.end(outcome)
    }

    // MARK: - What happens

    /// - Returns: whether it was refused.
    private mutating func happen(_ happening: Happening) async throws -> Bool {
        defer { withExtendedLifetime(lives) {} }
        do {
            try await carryOut(happening)
        } catch let error as ControlError where error.reason == .conflict {
            return true
        }
        try await test.advance(by: .zero)
        try await test.settle()
        return false
    }

    private mutating func carryOut(_ happening: Happening) async throws {
        let scheduler = test.scheduler
        switch happening {
        case .date:
            let waits = try await state() == "waiting(retry)"
            try await test.advance(by: waits ? .seconds(20) : .seconds(4))
        case .place, .success: test.runner.end(.exited(0))
        case .failure: test.runner.end(.exited(1))
        case .unstarted: test.runner.end(.notStarted("no such file"))
        case .invalidate, .kill:
            _ = try await scheduler.change(
                .ids([job]),
                .invalidate,
                caller: TestScheduler.root,
                kill: happening == .kill
            )
        case .pause: try await test.change(job, .pause)
        case .resume:
            try await test.change(job, .pause)
            try await test.change(job, .resume)
        case .hand: _ = try await scheduler.fire(.id(job), caller: TestScheduler.root)
        case .skip: try await test.change(job, .skip(1))
        case .move: try await test.change(job, .setFireDate(Self.date + .seconds(30)))
        case .replace:
            var new = try await test.job(job).definition
            if new.command != nil { new.command = ["new"] }
            let job = try NewJob(new, owner: 0, at: test.clock.now(), zone: .utc)
            _ = try await scheduler.add([job], replace: true, caller: TestScheduler.root)
        case .ahead: try await ClockStepTests.step(test, by: Self.hour)
        case .back: try await ClockStepTests.step(test, by: -Self.hour)
        case .restart:
            await scheduler.stop(.end(after: .zero))
            lives.append(try await test.crashed())
        case .crash: lives.append(try await test.crashed())
        }
    }

    /// Lets time pass until 5 s after the date, ends all that runs, and lets the rest of the minute pass.
    private func goOn() async throws {
        try await advance(to: Self.date + .seconds(5))
        test.runner.isHolding = false
        test.runner.end()
        try await advance(to: Self.date + .seconds(50))
    }

    /// As if the clock had not been set.
    private func advance(to date: Timestamp) async throws {
        try await test.advance(by: max(.zero, date - test.clock.now().elapsed))
        try await test.settle()
    }

    // MARK: - What became of it

    /// As it is stored: what is only claimed is in no answer.
    private func state() async throws -> String {
        try await test.settle()
        let job = job
        let found = try await test.store.reader.read { database in
            try database.prepare(
                "SELECT state, waits_for, reason FROM fires WHERE job_id = ?1 AND wall_date_us = ?2"
            ).first(job, Self.date) { row in
                let state = try row.get(0, as: String.self)
                let detail = try row.get(state == "waiting" ? 1 : 2, as: String?.self)
                return state + (detail.map { "(\($0))" } ?? "")
            }
        }
        return found ?? "none"
    }

    private func starts() -> String {
        lives.flatMap(\.runner.requests).map { $0.argv[0] }.filter { $0 != "other" }
            .joined(separator: " ")
    }

    private func told() -> String {
        let events = lives.flatMap(\.sink.all).filter { $0.job == job }
        let fires = Set(events.filter { $0.fireDate == Self.date }.compactMap(\.fire))
        return events.filter { $0.fire.map(fires.contains) ?? false }.compactMap { event in
            switch event.type {
            case .fireFired: event.redelivered == true ? "fired again" : "fired"
            case .fireSkipped: "skipped"
            case .runFinished:
                (event.handler == nil ? "" : "notify ") + (event.outcome?.rawValue ?? "?")
            default: nil
            }
        }.joined(separator: ", ")
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import TimerD

/// The runner's part in it: how it fares, and what has to hold of the runs that it minds.
extension CrashSimulation {
    /// A death of the runner.
    struct RunnerDeath {
        var host: Int
        /// What it had.
        var runs: Set<Int64>
        /// The first run that the next one was asked for: those from it on are not of this one.
        var end = Int64.max
    }

    /// What became of a run that the runner has carried out.
    struct TrueEnd {
        /// Nil where there was no process.
        var pid: Int32?
        /// Nil while it is in progress.
        var outcome: RunOutcome?
    }

    /// What a process writes.
    static func output(of pid: Int32) -> [UInt8] { Array("pid \(pid)".utf8) }

    private static func words(_ output: [UInt8]?) -> String {
        output.map { "'\(String(decoding: $0, as: UTF8.self))'" } ?? "none"
    }

    /// What a row of run_output has of it.
    private static func stdout(of row: [UInt8]?) -> [UInt8]? {
        guard let row else { return nil }
        var stdout: [UInt8] = []
        _ = OutputPart.forEach(in: row) { _, bytes in
            stdout += bytes
            return true
        }
        return stdout
    }

    /// How long what is said now is on its way.
    func delay() -> TimeSpan {
        guard !isEnding, runner.slowness > .zero, conductor.dice.isTrue(0.7) else { return .zero }
        return conductor.dice.span(TimeSpan(microseconds: 1), runner.slowness)
    }

    /// Whether no runner can be started now, where there is none.
    var refusesRunner: Bool {
        guard runner.epoch == nil, !isEnding, conductor.dice.isTrue(0.3) else { return false }
        tell("no runner can be started")
        life?.hasSeenRunnerTrouble = true
        return true
    }

    /// How it is minded to fare in the daemon's life that begins.
    func prepareRunner() {
        killRunnerAtStep = nil
        for runner in runners { (runner.slowness, runner.room) = (.zero, .max) }
        guard plan.crashAt == nil, !isEnding else { return }
        runner.slowness = conductor.dice.pick([
            (4, .zero), (3, .milliseconds(5)), (2, .milliseconds(800)), (1, .seconds(6)),
        ])
        if runner.slowness > .seconds(4) { life?.hasSeenRunnerTrouble = true }
        if conductor.dice.isTrue(0.2) {
            runner.room = Int.random(in: 0...2, using: &conductor.dice)
        }
        if conductor.dice.isTrue(0.3) {
            killRunnerAtStep = steps + Int.random(in: 1...1500, using: &conductor.dice)
        }
    }

    /// While no daemon runs it may die as well.
    func perhapsKillRunnerUnnoticed() {
        if plan.crashAt == nil, !isEnding, conductor.dice.isTrue(0.15) { runnerDies() }
    }

    /// In the few steps behind what one has told the other the next one to die may know what it should not.
    func perhapsEndSoon(daemon: Double, runner: Double) {
        guard plan.crashAt == nil, !isEnding else { return }
        if crashesLeft > 0, conductor.dice.isTrue(daemon) {
            killAtStep = steps + Int.random(in: 1...8, using: &conductor.dice)
        }
        if conductor.dice.isTrue(runner) {
            killRunnerAtStep = steps + Int.random(in: 1...12, using: &conductor.dice)
        }
    }

    /// It dies, or only the connection with it.
    func runnerHasTrouble() {
        guard conductor.dice.isTrue(0.3) else { return runnerDies() }
        killRunnerAtStep = nil
        tell("the connection with the runner is lost")
        life?.hasSeenRunnerTrouble = true
        runner.loseConnection()
    }

    func runnerDies(losingPower: Bool = false) {
        killRunnerAtStep = nil
        if runner.epoch != nil { life?.hasSeenRunnerTrouble = true }
        dies(runner, losingPower: losingPower)
    }

    func dies(_ runner: SimulatedRunner, losingPower: Bool = false) {
        guard let epoch = runner.epoch else { return }
        tally.runnerDeaths += 1
        let runs = losingPower ? runner.losePower() : runner.die()
        tell("runner \(epoch) dies, with runs \(runs.sorted())")
        deaths.append(RunnerDeath(host: runner.host, runs: runs))
    }

    // MARK: - What holds

    /// The runner reads that it is to start a run.
    func asked(_ run: Int64, of runner: SimulatedRunner) {
        for index in deaths.indices where deaths[index].host == runner.host {
            deaths[index].end = min(deaths[index].end, run)
        }
        guard life?.isReady == true else { return }
        let epoch = runner.epoch ?? 0
        let node = sharesRuns ? "'\(runner.node)'" : "NULL"
        let others = inspect {
            try $0.number(
                """
                SELECT count(*) FROM runs
                WHERE id = \(run) AND (runner IS NOT \(epoch) OR node IS NOT \(node))
                """
            )
        }
        check(
            .epochStored,
            others ?? 0 == 0,
            "run \(run) was asked of runner \(epoch), and its row says another"
        )
    }

    /// A run has begun, or could not.
    func begun(_ run: Int64, _ process: SimulatedProcesses.Process?) {
        check(.oneProcess, trueEnds[run] == nil, "run \(run) has begun twice")
        let outcome: RunOutcome? = process == nil ? .notStarted("no such program") : nil
        trueEnds[run] = TrueEnd(pid: process?.pid, outcome: outcome)
        if killsNext, let process { kill(process) }
    }

    /// Whether a runner has died with it; of one that never began, whether it may have been asked for before.
    func mayBeInterrupted(_ run: Int64) -> Bool {
        if wasGivenUp(run) { return true }
        let hasBegun = trueEnds[run] != nil
        return deaths.contains { hasBegun ? $0.runs.contains(run) : run < $0.end }
    }

    /// What is stored of commands' runs: those that the runner had to their end have that end.
    func checkRuns() {
        let sql = """
            SELECT id, outcome, code, bytes FROM runs
            LEFT JOIN run_output ON run_id = id AND part = 0
            WHERE outcome IS NULL OR outcome NOT IN ('finished', 'failed', 'released', 'lost')
            ORDER BY id
            """
        let rows = inspect {
            try $0.prepare(sql).all { row in
                (
                    run: try row.get(0, as: Int64.self), outcome: try row.get(1, as: String?.self),
                    code: try row.get(2, as: Int?.self), output: try row.get(3, as: [UInt8]?.self)
                )
            }
        }
        for row in rows ?? [] {
            guard let outcome = row.outcome else { continue }
            let what = "run \(row.run) is stored as \(outcome) \(row.code?.description ?? "")"
            guard outcome != "interrupted" else {
                let isOfAll = trueEnds[row.run]?.outcome == .interrupted
                check(.interruptedWithRunner, isOfAll || mayBeInterrupted(row.run), what)
                continue
            }
            // One that was withdrawn has no process.
            guard let end = trueEnds[row.run] else {
                check(.trueEnd, outcome == "notStarted", "\(what), and never began")
                continue
            }
            check(.trueEnd, end.words == [outcome, row.code?.description].compactMap(\.self), what)
            let output = end.pid.map(Self.output(of:))
            let stored = Self.stdout(of: row.output)
            // What a run that is too old wrote goes a piece of work before its row.
            let isGoing = prunes && stored == nil
            check(
                .trueEnd,
                stored == output || isGoing,
                "\(what), with output \(Self.words(stored)) and not \(Self.words(output))"
            )
        }
        guard let rows, !prunes else { return }
        let stored = Set(rows.map(\.run))
        for run in trueEnds.keys.sorted() {
            check(.trueEnd, stored.contains(run), "run \(run) has no row")
        }
    }

    /// At a quiet end nobody keeps anything of a run.
    func checkNothingKept() {
        for runner in runners {
            let runs = runner.runs.keys.sorted()
            check(.nothingKept, runs.isEmpty, "the runner of host \(runner.node): \(runs)")
        }
        let known = life?.runner?.known.runs.keys.sorted() ?? []
        check(.nothingKept, known.isEmpty, "the daemon: \(known)")
    }
}

extension CrashSimulation.TrueEnd {
    /// As the store has it.
    fileprivate var words: [String] {
        switch outcome {
        case .exited(let status): ["exited", "\(status)"]
        case .signalled(let signal): ["signalled", "\(signal)"]
        case .outOfMemory: ["signalled", "9"]
        case .timedOut: ["timedOut"]
        case .notStarted: ["notStarted"]
        case .interrupted, .finished, .failed, .released, .lost, nil: []
        }
    }
}

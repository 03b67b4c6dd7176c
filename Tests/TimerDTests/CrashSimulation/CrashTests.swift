// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TimerD

/// Daemons that are killed at operations of the disk: see `CrashSimulation`, and `Invariant` for what
/// has to hold.
///
/// `make simulate SEEDS=1000` or `SEEDS=5..9` lives through so many; with `OPERATION=120`, and
/// `POWER=1` for a loss of power, the daemon is killed at that operation alone. A failure prints
/// the seed and the trace before it; the same seed replays it exactly.
@Suite("Crashes", .timeLimit(.minutes(60)))
struct CrashTests {
    private static func variable(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// How often somebody does something in a life that is ended at each of its operations.
    private static let shortLife = 3

    /// `100` for the first hundred, `5..9` for those.
    private static var seeds: ClosedRange<UInt64> {
        let words = (variable("TIMERD_SIMULATE_SEEDS") ?? "300").split(separator: ".")
        let numbers = words.compactMap { UInt64($0) }
        guard let last = numbers.last, last >= 1 else { return 1...300 }
        return (numbers.count > 1 ? min(numbers[0], last) : 1)...last
    }

    @Test("Whatever a crash or a failing disk leaves, nothing that was promised is lost")
    func seeds() async throws {
        _ = try await SimulatedLife.accounts.name(of: 0)
        var tally = CrashTally()
        for seed in Self.seeds {
            var plan = CrashSimulation.Plan(seed: seed)
            plan.crashAt = Self.variable("TIMERD_SIMULATE_OPERATION").flatMap { Int64($0) }
            if plan.crashAt != nil { plan.actions = Self.shortLife }
            plan.losesPower = Self.variable("TIMERD_SIMULATE_POWER") != nil
            live(plan, into: &tally)
            Progress.show("seed \(seed) of \(Self.seeds.upperBound), \(tally.crashes) crashes")
        }
        Progress.end()
        print(tally.report(of: Self.seeds.count))
    }

    @Test("A short life may end at any operation of its disk, by a kill or a loss of power")
    func everyOperation() async throws {
        _ = try await SimulatedLife.accounts.name(of: 0)
        var tally = CrashTally()
        var points = 0
        // One seed in a test run, so many more as TIMERD_SIMULATE_EVERY says.
        let count = Self.variable("TIMERD_SIMULATE_EVERY").flatMap { UInt64($0) } ?? 1
        for seed in 1...max(count, 1) {
            var plan = CrashSimulation.Plan(seed: seed, actions: Self.shortLife)
            // No operation has this number: one whole life, to count them.
            plan.crashAt = -1
            let operations = live(plan, into: &tally)
            for operation in 1...max(operations, 1) {
                for losesPower in [false, true] {
                    plan.crashAt = operation
                    plan.losesPower = losesPower
                    live(plan, into: &tally)
                    points += 1
                }
                Progress.show("seed \(seed), operation \(operation) of \(operations)")
            }
        }
        Progress.end()
        print(tally.report(of: points))
        #expect(tally.crashes == points)
    }

    @Test("The same seed is the same life, to the last write", arguments: UInt64(1)...10)
    func replay(seed: UInt64) async throws {
        _ = try await SimulatedLife.accounts.name(of: 0)
        let lives = (0..<2).map { _ in
            let simulation = CrashSimulation(CrashSimulation.Plan(seed: seed))
            simulation.run()
            return simulation
        }
        let isSame = lives[0].trace == lives[1].trace
        #expect(isSame, "\(Self.difference(lives[0].story, lives[1].story))")
        #expect(lives[0].disk.trace == lives[1].disk.trace)
    }

    /// Where two lives part, with what was before.
    private static func difference(_ one: [String], _ other: [String]) -> String {
        let count = zip(one, other).prefix { $0 == $1 }.count
        let before = one.prefix(count).suffix(40) + ["and then one, and the other:"]
        return (before + one.dropFirst(count).prefix(3) + other.dropFirst(count).prefix(3))
            .joined(separator: "\n")
    }

    /// Returns the number of operations of the disk at which the daemon may be killed.
    @discardableResult
    private func live(_ plan: CrashSimulation.Plan, into tally: inout CrashTally) -> Int64 {
        let simulation = CrashSimulation(plan)
        simulation.run()
        tally += simulation.tally
        #expect(simulation.problems.isEmpty, "\(simulation.report)")
        return simulation.operationsBeforeEnd
    }
}

/// A line for who waits, where a person does.
private enum Progress {
    private static let isShown = isatty(FileHandle.standardError.fileDescriptor) == 1

    static func show(_ line: String) {
        guard isShown else { return }
        FileHandle.standardError.write(Data("\r\(line)\u{1B}[K".utf8))
    }

    static func end() { show("") }
}

extension CrashTally {
    /// For people, of `lives`.
    fileprivate func report(of lives: Int) -> String {
        let invariants = Invariant.allCases.map { invariant in
            "  \(checks[invariant, default: 0])  \(invariant.rawValue)"
        }
        return """
            \(lives) seeds or crash points, \(crashes) crashes, \(powerLosses) of them losses of \
            power, \(faults) disk errors, \(operations) operations of the disk, \(commands) \
            commands, \(fires) fires, \(processes) processes, \(elsewhere) of them on a host that does \
            not lead, \(absences) absences of such a host, \(runnerDeaths) deaths of their runner, \(tasks) \
            attempts at tasks, \(takeovers) takeovers by other hosts, \(pauses) of them from paused ones. Checked:
            \(invariants.joined(separator: "\n"))
            """
    }
}

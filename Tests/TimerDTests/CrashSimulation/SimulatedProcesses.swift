// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import TimerD

/// The processes of a simulated machine: they outlive the daemon that started them, and end when their
/// time has come.
///
/// Unchecked: the one thread of a simulation is the only one to touch it.
final class SimulatedProcesses: @unchecked Sendable {
    struct Process {
        var pid: Int32
        var run: Int64
        var job: JobID
        var fire: FireID
        var attempt: Int
        var isOnFailure: Bool
        var overlaps: Bool
        var endsAt: Timestamp
        var outcome: RunOutcome
        /// Who waits for its end.
        var waiters: [(RunOutcome) -> Void] = []

        /// When it was started, to the daemon.
        var ticks: Int64 { Int64(pid) * 7 }
        var identity: ProcessIdentity { ProcessIdentity(pid: pid, ticks: ticks) }
    }

    /// Of those that live, by pid.
    private(set) var living: [Int32: Process] = [:]
    private var lastPID: Int32 = 100

    var firstEnd: Timestamp? { living.values.lazy.map(\.endsAt).min() }

    func start(
        _ request: RunRequest,
        of command: ProcessNames,
        endsAt: Timestamp,
        _ outcome: RunOutcome
    )
        -> Process
    {
        lastPID += 1
        let process = Process(
            pid: lastPID,
            run: request.run,
            job: command.job,
            fire: command.fire,
            attempt: command.attempt,
            isOnFailure: command.isOnFailure,
            overlaps: command.overlaps,
            endsAt: endsAt,
            outcome: outcome
        )
        living[lastPID] = process
        return process
    }

    func process(of run: Int64) -> Process? {
        living.values.filter { $0.run == run }.max { $0.pid < $1.pid }
    }

    /// Calls `body` when the process ends, or the daemon does.
    func onEnd(of pid: Int32, _ body: @escaping (RunOutcome) -> Void) {
        guard living[pid] != nil else { return body(.interrupted) }
        living[pid]?.waiters.append(body)
    }

    /// A signal: it ends at `date`, if it does not before.
    func end(_ pid: Int32, at date: Timestamp) {
        guard let process = living[pid], date < process.endsAt else { return }
        living[pid]?.endsAt = date
        living[pid]?.outcome = .signalled(15)
    }

    /// Ends the processes whose time has come; returns them.
    func endDue(at now: Timestamp) -> [Process] {
        let due = living.values.filter { $0.endsAt <= now }
            .sorted { ($0.endsAt, $0.pid) < ($1.endsAt, $1.pid) }
        for process in due {
            living[process.pid] = nil
            for waiter in process.waiters { waiter(process.outcome) }
        }
        return due
    }

    /// The daemon is gone: nobody waits any more.
    func forgetWaiters() {
        for pid in living.keys.sorted() {
            let waiters = living[pid]?.waiters ?? []
            living[pid]?.waiters = []
            for waiter in waiters { waiter(.interrupted) }
        }
    }

    /// The machine is switched off.
    func endAll() { living = [:] }
}

/// What a process is of, as its environment says.
struct ProcessNames {
    var job: JobID
    var fire: FireID
    /// By the wall clock: with its job it is what tells a fire from others, whatever number it has.
    var fireDate: String
    var attempt: Int
    var isOnFailure: Bool
    var overlaps: Bool

    init?(_ request: RunRequest) {
        guard let job = request.environment["TIMERD_JOB_ID"].flatMap({ Int64($0) }),
            let fire = request.environment["TIMERD_FIRE_ID"].flatMap({ Int64($0) }),
            let date = request.environment["TIMERD_FIRE_DATE"],
            let attempt = request.environment["TIMERD_ATTEMPT"].flatMap({ Int($0) })
        else { return nil }
        self.job = JobID(rawValue: job)
        self.fire = FireID(rawValue: fire)
        fireDate = date
        self.attempt = attempt
        isOnFailure = request.argv[0] == CrashMix.onFailure
        overlaps = request.argv[0] == CrashMix.overlapping
    }
}

/// What a life of the daemon starts its runs with.
final class SimulatedRunner: CommandRunner, @unchecked Sendable {
    private unowned let simulation: CrashSimulation
    private let life: Int

    init(_ simulation: CrashSimulation, life: Int) {
        self.simulation = simulation
        self.life = life
    }

    private var processes: SimulatedProcesses { simulation.processes }
    private var isDead: Bool { simulation.isDead(life) }

    func run(_ request: RunRequest, started: @escaping @Sendable (Int32) -> Void) async -> RunResult
    {
        let startedAt = simulation.wall.microseconds
        guard !isDead, let names = ProcessNames(request) else {
            return .notStarted("the daemon is dead", from: startedAt, to: startedAt)
        }
        guard let process = simulation.start(request, names) else {
            return .notStarted("no such program", from: startedAt, to: startedAt)
        }
        started(process.pid)
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                processes.onEnd(of: process.pid) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            stop(request.run, by: .standard)
        }
        return RunResult(
            outcome: outcome,
            startedAtMicroseconds: startedAt,
            endedAtMicroseconds: simulation.wall.microseconds,
            output: CapturedOutput(stdout: Array("pid \(process.pid)".utf8))
        )
    }

    @discardableResult
    func stop(_ run: Int64, by teardown: Teardown) -> Bool {
        guard !isDead, let process = processes.process(of: run) else { return false }
        processes.end(process.pid, at: simulation.soon())
        return true
    }

    func process(_ pid: Int32) -> ProcessIdentity? { processes.living[pid]?.identity }

    func processes(of runs: [Int64: UInt32], socket: String) -> [Int64: ProcessIdentity] {
        let found = processes.living.values.filter { runs[$0.run] != nil }
        return Dictionary(found.map { ($0.run, $0.identity) }) { first, _ in first }
    }

    func lives(_ process: ProcessIdentity) -> Bool {
        processes.living[process.pid]?.ticks == process.ticks
    }

    func end(_ process: ProcessIdentity, of owner: UInt32, by teardown: Teardown) async -> [Int32] {
        guard lives(process), !isDead else { return [] }
        processes.end(process.pid, at: simulation.soon())
        await withCheckedContinuation { continuation in
            processes.onEnd(of: process.pid) { _ in continuation.resume() }
        }
        return []
    }
}

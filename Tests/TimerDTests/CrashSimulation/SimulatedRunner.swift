// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import JobModel
import Schedules
import TimerControl

@testable import Runner
@testable import TimerD

/// `timerd-runner`, as docs/runner-protocol.md has it: a process of its own, that lives on without the daemon,
/// may be slow, have no room, and die with all that it minds.
///
/// Unchecked: the one thread of a simulation is the only one to touch it.
final class SimulatedRunner: Conductor.Lane, @unchecked Sendable {
    struct Run {
        var known: KnownRun
        var outcome: RunOutcome?
        var endedAt: Timestamp?
        /// Whether the daemon that is connected was told its end: only that can be stored.
        var isEndTold = false
    }

    private unowned let simulation: CrashSimulation
    /// Which host it is on.
    let host: Int
    /// Another one for each life of it; nil while it is dead.
    private(set) var epoch: Int64?
    private var lastEpoch: Int64
    /// What it minds, and how that ended, until the daemon says that it is stored.
    private(set) var runs: [Int64: Run] = [:]
    /// How many it minds at most.
    var room = Int.max
    /// How long an order or a report is on its way at most; each arrives behind those before it.
    var slowness = TimeSpan.zero
    private var link: SimulatedLink?
    /// What the agent of its host is ready to begin, and since when.
    private(set) var prepared: [Int64: (request: RunRequest, since: Timestamp)] = [:]

    init(_ simulation: CrashSimulation, on host: Int) {
        self.simulation = simulation
        self.host = host
        lastEpoch = Int64(host) * 1000
        super.init(simulation.conductor, isMachines: true)
    }

    /// The name of its node.
    var node: String { ["a", "b"][host] }

    // MARK: - Its connection

    /// The newest connection counts: what came over the one before and was not read is not carried out.
    func connect(_ link: SimulatedLink) {
        if epoch == nil {
            lastEpoch += 1
            epoch = lastEpoch
            simulation.tell("runner \(lastEpoch) begins")
        }
        self.link?.runnerHasClosed()
        self.link = link
        prepared = [:]
        for run in runs.keys { runs[run]?.isEndTold = false }
    }

    /// When an order arrives next that has not.
    var firstDate: Timestamp? { link?.orders.first?.date }

    override var isRunnable: Bool {
        guard epoch != nil, let link else { return false }
        return link.orders.first.map { $0.date <= conductor.now } ?? link.isClosed
    }

    /// Reads an order, or that the daemon has closed the connection.
    override func step() {
        guard let link else { return }
        guard !link.orders.isEmpty else {
            self.link = nil
            prepared = [:]
            return
        }
        carryOut(link.orders.removeFirst().order)
    }

    private func say(_ report: RunnerReport) { link?.arrive(report) }

    private func carryOut(_ order: RunnerOrder) {
        guard let epoch else { return }
        switch order {
        case .hello:
            let welcome = RunnerReport.Welcome(
                version: RunnerProtocol.current.version,
                epoch: epoch,
                pid: 99,
                runs: 16_384,
                bytes: 2 << 30,
                release: timerdVersion
            )
            // Its agent says how much it takes.
            if link?.isOfNode == true { say(.room(3)) }
            say(.welcome(welcome))
            for (number, run) in runs.sorted(by: { $0.key < $1.key }) {
                say(.known(run: number, run.known))
            }
            say(.synced)
            for (number, run) in runs.sorted(by: { $0.key < $1.key }) {
                if run.known.phase != .starting { sayOutput(number, run) }
                sayEnd(number)
            }
        case .start(let request, _): start(request)
        case .end(let number, _, _, let withAll, _, _, _):
            let process = runs[number].flatMap { simulation.processes.living[$0.known.pid] }
            if let process {
                // Some take their time, in which the daemon may end.
                let isSlow = conductor.dice.isTrue(0.3)
                let time = isSlow ? conductor.dice.span(.seconds(1), .seconds(20)) : .zero
                let date = simulation.soon() + time
                simulation.processes.end(
                    process.pid,
                    at: date,
                    evenLater: isSlow,
                    withAll: withAll
                )
            }
            say(.signalled(run: number, answer: process != nil ? .sent : .gone))
        case .stored(let number): if runs[number]?.isEndTold == true { runs[number] = nil }
        case .ping: say(.pong)
        case .offer(let number, let offer): prepare(number, offer)
        case .go(let number, let within): begin(number, within: within)
        case .withdraw(let number): prepared[number] = nil
        case .leave, .endAll, .passed: break
        }
    }

    // MARK: - As the agent of its host

    private func prepare(_ number: Int64, _ offer: [UInt8]) {
        do throws(StartRefusal) {
            guard !conductor.dice.isTrue(0.05) else { throw StartRefusal("not now") }
            let command = try RunOffer(offer).command(number, of: .root)
            prepared[number] = (SimulatedLife.request(for: command), conductor.now)
            say(.ready(run: number))
        } catch {
            say(.declined(run: number, .forNow, reason: error.message))
        }
    }

    private func begin(_ number: Int64, within: Int64) {
        let order = prepared.removeValue(forKey: number)
        guard let order, (conductor.now - order.since).microseconds <= within else {
            return say(.declined(run: number, .forNow, reason: "it was told to begin it too late"))
        }
        start(order.request)
    }

    // MARK: - Runs

    private func start(_ request: RunRequest) {
        guard runs[request.run] == nil else {
            return say(.refused(run: request.run, errno: EEXIST))
        }
        guard runs.count < room else {
            simulation.tell("no room for run \(request.run)")
            return say(.refused(run: request.run, errno: ENOSPC))
        }
        guard let names = ProcessNames(request) else { return }
        let now = simulation.wall
        simulation.asked(request.run, of: self)
        let process = simulation.start(request, names, on: host)
        simulation.begun(request.run, process)
        let known = KnownRun(
            phase: process == nil ? .ended : .running,
            pid: process?.pid ?? 0,
            startedAtMicroseconds: now.microseconds
        )
        runs[request.run] = Run(known: known)
        guard process != nil else {
            runs[request.run]?.endedAt = now
            return sayEnd(request.run)
        }
        say(.started(run: request.run, known))
        if let run = runs[request.run] { sayOutput(request.run, run) }
    }

    /// A process has ended, and its run with it.
    func ended(_ process: SimulatedProcesses.Process) {
        simulation.trueEnds[process.run]?.outcome = process.outcome
        runs[process.run]?.outcome = process.outcome
        runs[process.run]?.endedAt = simulation.wall
        runs[process.run]?.known.phase = .ended
        sayEnd(process.run)
    }

    private func sayOutput(_ number: Int64, _ run: Run) {
        guard run.known.pid != 0 else { return }
        let bytes = CrashSimulation.output(of: run.known.pid)
        say(
            .output(
                run: number,
                stream: .stdout,
                date: simulation.wall.microseconds,
                position: 0,
                bytes: bytes[...]
            )
        )
    }

    private func sayEnd(_ number: Int64) {
        guard let run = runs[number], let endedAt = run.endedAt, link != nil else { return }
        runs[number]?.isEndTold = true
        let (outcome, code): (RunnerReport.End.Outcome, Int32) =
            switch run.outcome {
            case .exited(let status): (.exited, status)
            case .signalled(let signal): (.signalled, signal)
            case .timedOut: (.timedOut, 15)
            case .interrupted: (.interrupted, 15)
            default: (.notStarted, 0)
            }
        var failure: cspawn_report?
        if outcome == .notStarted {
            failure = cspawn_report()
            failure?.error = ENOENT
        }
        let end = RunnerReport.End(
            outcome: outcome,
            code: code,
            startedAtMicroseconds: run.known.startedAtMicroseconds,
            endedAtMicroseconds: endedAt.microseconds,
            usage: RunUsage(userMicroseconds: 0, systemMicroseconds: 0, peakMemory: nil),
            stdout: 0,
            stderr: 0,
            survivors: [],
            failure: failure
        )
        say(.ended(run: number, end))
    }

    /// The connection is lost, and neither of the two.
    func loseConnection() {
        link?.runnerHasClosed()
        link = nil
        prepared = [:]
    }

    /// Its daemon stands still, and the connection stays.
    func forgetLink() { link = nil }

    /// It dies, and its processes with it; returns the runs that it had.
    func die() -> Set<Int64> {
        guard epoch != nil else { return [] }
        epoch = nil
        defer { (runs, prepared) = ([:], [:]) }
        simulation.processes.endAll(on: host)
        link?.runnerHasDied(Int.random(in: 0...3, using: &conductor.dice))
        link = nil
        return Set(runs.keys)
    }

    /// The machine has no power.
    func losePower() -> Set<Int64> {
        link?.cut()
        return die()
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import SystemPackage

@testable import Runner
@testable import TimerD

/// The thread of the daemon on which its connection with a runner lives, and its dates.
final class RunnerLane: Conductor.Lane, NodeConnections, @unchecked Sendable {
    private unowned let simulation: CrashSimulation
    private let life: Int
    /// Whether it is for the runner of the other host, whose agent has to come.
    private let isOfNode: Bool
    /// Whether that has come, and its connection is not taken yet.
    fileprivate private(set) var agentIsHere = false
    private var queue: [@Sendable () -> Void] = []
    private var dates: [(date: Timestamp, work: @Sendable () -> Void)] = []
    fileprivate var link: SimulatedLink?

    init(_ simulation: CrashSimulation, life: Int, isOfNode: Bool = false) {
        self.simulation = simulation
        self.life = life
        self.isOfNode = isOfNode
        super.init(simulation.conductor)
    }

    /// When something happens next that lies ahead.
    var firstDate: Timestamp? {
        (dates.map(\.date) + (link?.reports.first.map { [$0.date] } ?? [])).min()
    }

    private var hasReport: Bool { link?.reports.first.map { $0.date <= conductor.now } ?? false }

    override var isRunnable: Bool {
        !queue.isEmpty || hasReport || dates.contains { $0.date <= conductor.now }
    }

    /// What is ready, in the order that chance has: only the work that was given has one of its own.
    override func step() {
        if hasReport, queue.isEmpty || conductor.dice.isTrue(0.5) {
            return link?.deliver() ?? ()
        }
        if let index = dates.firstIndex(where: { $0.date <= conductor.now }) {
            return dates.remove(at: index).work()
        }
        if !queue.isEmpty { queue.removeFirst()() }
    }

    override func clear() {
        queue = []
        dates = []
        link = nil
    }

    /// What the daemon has said may still be read.
    func daemonDies() { link?.daemonHasDied() }

    func perform(_ work: @escaping @Sendable () -> Void) {
        queue.append(work)
        // Before a command that is on its way to the runner gets there. What a dead daemon does has no order.
        guard !simulation.isDead(life) else { return }
        isOfNode
            ? simulation.perhapsLoseOtherSoon(0.01)
            : simulation.perhapsEndSoon(daemon: 0, runner: 0.02)
    }

    func put(_ descriptor: FileDescriptor) { agentIsHere = true }

    func perform(after time: Duration, _ work: @escaping @Sendable () -> Void) {
        let (seconds, attoseconds) = time.components
        let span = TimeSpan(microseconds: seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
        dates.append((conductor.now + span, work))
    }

    func perform(afterEndOf pid: Int32, _ work: @escaping @Sendable () -> Void) {
        perform(after: .milliseconds(100), work)
    }

    func link(
        take: @escaping @Sendable (RunnerReport) -> Void,
        ended: @escaping @Sendable (String) -> Void
    ) throws(RunnerUnreachable) -> any RunnerLink {
        guard !simulation.isDead(life) else { throw RunnerUnreachable("the daemon is dead") }
        let runner = isOfNode ? simulation.other : simulation.runner
        if isOfNode {
            guard agentIsHere else { throw RunnerUnreachable("its node has not come") }
            agentIsHere = false
        } else if simulation.refusesRunner {
            throw RunnerUnreachable("no runner can be started")
        }
        let link = SimulatedLink(simulation, life, isOfNode: isOfNode, take, ended)
        self.link = link
        runner?.connect(link)
        return link
    }
}

/// A connection between the two: what is on its way, in both directions.
///
/// Unchecked: the one thread of a simulation is the only one to touch it.
final class SimulatedLink: RunnerLink, @unchecked Sendable {
    private unowned let simulation: CrashSimulation
    private let life: Int
    /// Whether it is with the agent of the other host.
    let isOfNode: Bool
    private let take: @Sendable (RunnerReport) -> Void
    private let ended: @Sendable (String) -> Void
    /// What the daemon has said and the runner has not read.
    var orders: [(date: Timestamp, order: RunnerOrder)] = []
    /// What the runner has said and the daemon has not read; nil for the end of it.
    fileprivate private(set) var reports: [(date: Timestamp, report: RunnerReport?)] = []
    /// Whether the daemon has closed it, or is dead.
    private(set) var isClosed = false
    private var hasEnded = false
    /// Whether the daemon was told of a run that a daemon before has begun.
    private var knowsAny = false

    fileprivate init(
        _ simulation: CrashSimulation,
        _ life: Int,
        isOfNode: Bool,
        _ take: @escaping @Sendable (RunnerReport) -> Void,
        _ ended: @escaping @Sendable (String) -> Void
    ) {
        self.simulation = simulation
        self.life = life
        self.isOfNode = isOfNode
        self.take = take
        self.ended = ended
    }

    /// When what is said now arrives: behind what was said before.
    private func arrival(behind last: Timestamp?) -> Timestamp {
        max(last ?? .distantPast, simulation.conductor.now + simulation.delay())
    }

    // MARK: - The daemon's end

    @discardableResult
    func send(_ order: RunnerOrder) -> Bool {
        let begins: RunRequest? =
            switch order {
            case .start(let request, _): request
            case .go(let run, _): simulation.other?.prepared[run]?.request
            default: nil
            }
        if !hasEnded, let begins { simulation.orderedByPaused(begins.run, life) }
        guard !hasEnded, !simulation.isDead(life) else { return true }
        if let begins { simulation.ordered(begins) }
        orders.append((arrival(behind: orders.last?.date), order))
        switch order {
        case .start: simulation.perhapsEndSoon(daemon: 0.04, runner: 0.02)
        case .offer: simulation.perhapsLoseOtherSoon(0.02)
        case .go(let run, _):
            simulation.toldToBegin(run)
            simulation.perhapsEndSoon(daemon: 0.04, runner: 0)
            simulation.perhapsLoseOtherSoon(0.05)
        case .stored where isOfNode: simulation.perhapsLoseOtherSoon(0.05)
        case .stored: simulation.perhapsEndSoon(daemon: 0, runner: 0.05)
        default: break
        }
        return true
    }

    func close(_ reason: String) {
        guard !hasEnded else { return }
        (hasEnded, isClosed) = (true, true)
        // Where its agent has come anew, the next connection is there already.
        if isOfNode, !simulation.isDead(life), simulation.life?.nodeLane?.agentIsHere == false {
            simulation.otherIsGone()
        }
        ended(reason)
    }

    /// A report is read.
    fileprivate func deliver() {
        guard let report = reports.removeFirst().report else {
            return close("the connection has ended")
        }
        guard !hasEnded else { return }
        // All that it knows is said.
        if isOfNode, case .synced = report { simulation.otherIsBack() }
        take(report)
        switch report {
        case .ended where isOfNode:
            simulation.perhapsEndSoon(daemon: 0.06, runner: 0)
            simulation.perhapsLoseOtherSoon(0.06)
        case .synced where isOfNode:
            simulation.perhapsEndSoon(daemon: 0.02, runner: 0)
            simulation.perhapsLoseOtherSoon(0.1)
        case .ended: simulation.perhapsEndSoon(daemon: 0.06, runner: 0.06)
        case .known: knowsAny = true
        // Before the daemon has taken up what it has just heard of.
        case .synced: simulation.perhapsEndSoon(daemon: 0.02, runner: knowsAny ? 0.5 : 0.1)
        default: break
        }
    }

    // MARK: - The runner's end

    func arrive(_ report: RunnerReport) {
        reports.append((arrival(behind: reports.last?.date), report))
    }

    func runnerHasClosed() {
        orders = []
        reports.append((arrival(behind: reports.last?.date), nil))
    }

    /// The last `count` reports were on their way within it.
    func runnerHasDied(_ count: Int) {
        reports.removeLast(min(count, reports.count))
        runnerHasClosed()
    }

    /// What it has said is still read; or the runner is so slow that the next daemon comes first.
    fileprivate func daemonHasDied() {
        isClosed = true
        guard !orders.isEmpty, simulation.conductor.dice.isTrue(0.5) else { return }
        let lost = Int.random(in: 1...orders.count, using: &simulation.conductor.dice)
        orders.removeLast(lost)
        simulation.tell("\(lost) orders are never read")
    }

    /// Nothing of it arrives any more.
    func cut() {
        orders = []
        reports = []
    }
}

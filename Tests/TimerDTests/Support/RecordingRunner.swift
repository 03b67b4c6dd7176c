// SPDX-License-Identifier: Apache-2.0

import Locks
import Schedules
import TimerControl

@testable import LinuxSystem
@testable import Runner
@testable import TimerD

/// A runner that keeps what it was asked to run, and whose runs end at once or when a test says so.
final class RecordingRunner: CommandRunner {
    private struct State {
        var requests: [RunRequest] = []
        var isHolding = false
        var ignoresSignals = false
        var notBegun: String?
        var held: [Int64: CheckedContinuation<RunOutcome, Never>] = [:]
        var startGate: Gate?
        var orderGate: Gate?
        var ordersHeld = 0
        var outcome = RunOutcome.exited(0)
        var holds: (@Sendable (RunRequest) -> Bool)?
        var answer: (@Sendable (RunRequest) -> RunOutcome?)?
        var refusal: (@Sendable (RunRequest) -> StartRefusal?)?
        var output = CapturedOutput()
        var known: KnownRuns
        var takenUp: [Int64] = []
        var endedBefore = TimeSpan.zero
        var neverBegun: Set<Int64> = []
        var endedAgain: [Int64] = []
        var endedWithRest: [Int64] = []
        var endedAsDaemon: [Int64] = []
        var refusesSignals = false
        var stops: [(run: Int64, teardown: Teardown)] = []
        var stored: [Int64] = []
        var onStored: (@Sendable () -> Void)?
        var awaited: [(runs: [Int64], whereOffered: Bool)] = []
        var groups: ControlGroups?
        var expected: [Int64: RunPlace] = [:]
        var strangerNodes: Set<String> = []
    }

    private let state: Locked<State>
    private let clock: any WallClock

    /// What every run used.
    static let usage = RunUsage(
        userMicroseconds: 1_500_000,
        systemMicroseconds: 250_000,
        peakMemory: 8192
    )

    /// `known`: the runs of daemons before; without it, nothing is left of those.
    ///
    /// `refusesSignals`: what those are told by a next daemon, as theirs may not signal their processes.
    init(clock: any WallClock, known: KnownRuns? = nil, refusesSignals: Bool = false) {
        self.clock = clock
        state = Locked(
            State(
                known: known ?? KnownRuns(epoch: .random(in: 1 ... .max)),
                refusesSignals: refusesSignals
            )
        )
    }

    /// The runs that were taken up, in order.
    var takenUp: [Int64] { state.withLock { $0.takenUp } }
    /// The runs that were told to end as a daemon before may have done, in order; a test has to end them.
    var endedAgain: [Int64] { state.withLock { $0.endedAgain } }
    /// Those that were killed with what they leave behind.
    var endedWithRest: [Int64] { state.withLock { $0.endedWithRest } }
    /// Those of them that were ended with the daemon's own rights.
    var endedAsDaemon: [Int64] { state.withLock { $0.endedAsDaemon } }
    /// The runs that were told to end, in order, and how.
    var stops: [(run: Int64, teardown: Teardown)] { state.withLock { $0.stops } }
    /// The runs whose end was said to be stored, in order.
    var stored: [Int64] { state.withLock { $0.stored } }
    /// Is called as the end of a run was stored, on the scheduler's thread.
    var onStored: (@Sendable () -> Void)? {
        get { state.withLock { $0.onStored } }
        set { state.withLock { $0.onStored = newValue } }
    }
    /// The runs whose begins were waited for, in order, and whether those that were only offered were as well.
    var awaited: [(runs: [Int64], whereOffered: Bool)] { state.withLock { $0.awaited } }

    /// The runs of other nodes that it was told to expect.
    var expected: [Int64: RunPlace] { state.withLock { $0.expected } }
    /// The nodes that know no user.
    var strangerNodes: Set<String> {
        get { state.withLock { $0.strangerNodes } }
        set { state.withLock { $0.strangerNodes = newValue } }
    }

    func expect(_ run: Int64, at place: RunPlace) {
        state.withLock { $0.expected[run] = place }
    }

    /// What it was asked to run, in order.
    var requests: [RunRequest] { state.withLock { $0.requests } }
    /// Whether runs go on until `end` is called.
    var isHolding: Bool {
        get { state.withLock { $0.isHolding } }
        set { state.withLock { $0.isHolding = newValue } }
    }

    /// Whether runs go on though they are told to end.
    var ignoresSignals: Bool {
        get { state.withLock { $0.ignoresSignals } }
        set { state.withLock { $0.ignoresSignals = newValue } }
    }

    /// Why commands do not begin, and may later; nil where they do.
    var notBegun: String? {
        get { state.withLock { $0.notBegun } }
        set { state.withLock { $0.notBegun = newValue } }
    }

    /// What holds commands back before they begin; nil for nothing.
    var startGate: Gate? {
        get { state.withLock { $0.startGate } }
        set { state.withLock { $0.startGate = newValue } }
    }

    /// What holds back the news that an order was lost which may not be taken back any more; nil where none is.
    var orderGate: Gate? {
        get { state.withLock { $0.orderGate } }
        set { state.withLock { $0.orderGate = newValue } }
    }

    /// How runs end that nobody holds.
    var outcome: RunOutcome {
        get { state.withLock { $0.outcome } }
        set { state.withLock { $0.outcome = newValue } }
    }

    /// Which runs go on until `end` is called, besides; nil for none.
    var holds: (@Sendable (RunRequest) -> Bool)? {
        get { state.withLock { $0.holds } }
        set { state.withLock { $0.holds = newValue } }
    }

    /// How the run of a request ends that nobody holds; nil, or where it says nil, by `outcome`.
    var answer: (@Sendable (RunRequest) -> RunOutcome?)? {
        get { state.withLock { $0.answer } }
        set { state.withLock { $0.answer = newValue } }
    }

    /// Why a request's command does not become a process; nil, or where it says nil, for one that does.
    var refusal: (@Sendable (RunRequest) -> StartRefusal?)? {
        get { state.withLock { $0.refusal } }
        set { state.withLock { $0.refusal = newValue } }
    }

    /// How long ago runs that were taken up have ended, as they are heard of.
    var endedBefore: TimeSpan {
        get { state.withLock { $0.endedBefore } }
        set { state.withLock { $0.endedBefore = newValue } }
    }

    /// What its control groups are said to be.
    var controlGroups: ControlGroups? {
        get { state.withLock { $0.groups } }
        set { state.withLock { $0.groups = newValue } }
    }

    /// What every run writes.
    var output: CapturedOutput {
        get { state.withLock { $0.output } }
        set { state.withLock { $0.output = newValue } }
    }

    /// Holds a run until a test or a signal ends it, or its task is cancelled.
    private func heldEnd(of run: Int64) async -> RunOutcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { $0.held[run] = continuation }
                // It may have been cancelled before there was anything to end.
                if Task.isCancelled { end(run, .interrupted) }
            }
        } onCancel: {
            end(run, .interrupted)
        }
    }

    /// Ends every run that is held.
    func end(_ outcome: RunOutcome = .exited(0)) {
        let held = state.withLock { state in
            defer { state.held = [:] }
            return state.held
        }
        for continuation in held.values { continuation.resume(returning: outcome) }
    }

    /// Says of a run that was taken up, and that it was not heard of, that it never began.
    func neverBegan(_ run: Int64) {
        state.withLock { _ = $0.neverBegun.insert(run) }
        end(run, .interrupted)
    }

    var heldCount: Int { state.withLock { $0.held.count + $0.ordersHeld } }

    var known: KnownRuns {
        state.withLock { state in
            var known = state.known
            let forgotten = state.stored.filter { $0 > 0 && !state.takenUp.contains($0) }
            known.strays = Set(
                forgotten.filter { known.runs[$0].map { $0.phase != .ended } ?? false }
            )
            return known
        }
    }

    func attach(_ changed: @escaping @Sendable (RunnerChange) -> Void) async throws -> KnownRuns {
        known
    }

    func takeUp(
        _ request: RunRequest,
        started: @escaping @Sendable (KnownRun) -> Void
    ) async throws(RunBreak) -> RunResult {
        state.withLock { $0.takenUp.append(request.run) }
        // One of another node goes on until a test ends it.
        let now = clock.now().wall.microseconds
        let going = KnownRun(phase: .running, pid: 77, startedAtMicroseconds: now)
        let elsewhere = expected[request.run].map { _ in going }
        guard let known = known.runs[request.run] ?? elsewhere else { throw .left }
        request.output.keep(known.outputKept)
        if known.phase != .starting { started(known) }
        var outcome = outcome
        if known.phase != .ended {
            outcome = await heldEnd(of: request.run)
        }
        if state.withLock({ $0.neverBegun.contains(request.run) }) {
            throw .notBegun("timerd-runner did not get the order")
        }
        return RunResult(
            outcome: outcome,
            startedAtMicroseconds: known.startedAtMicroseconds,
            endedAtMicroseconds: (clock.now().wall - endedBefore).microseconds,
            output: output,
            usage: Self.usage
        )
    }

    func stored(_ run: Int64) {
        state.withLock { $0.stored.append(run) }
        onStored?()
    }

    func run(
        _ request: RunRequest,
        started: @escaping @Sendable (KnownRun) -> Void
    ) async throws(RunBreak) -> RunResult {
        let startedAt = clock.now().wall.microseconds
        if let node = request.node, strangerNodes.contains(node) { throw .stranger("no such user") }
        await startGate?.pass()
        if let notBegun { throw .notBegun(notBegun) }
        guard request.start.begin() else {
            return .notStarted(.withdrawn, at: startedAt)
        }
        if let orderGate {
            state.withLock { $0.ordersHeld += 1 }
            await orderGate.pass()
            state.withLock { $0.ordersHeld -= 1 }
            throw .notBegun("the order was lost")
        }
        let isHolding = state.withLock { state in
            state.requests.append(request)
            return state.isHolding
        }
        if let refusal = refusal?(request) { return .notStarted(refusal, at: startedAt) }
        // No process has this number: the kernel gives none above 4,194,304.
        let pid: Int32 = 1_000_000_000
        started(KnownRun(phase: .running, pid: pid, startedAtMicroseconds: startedAt))
        var outcome = answer?(request) ?? self.outcome
        if isHolding || holds?(request) == true {
            outcome = await heldEnd(of: request.run)
        }
        return RunResult(
            outcome: outcome,
            startedAtMicroseconds: startedAt,
            endedAtMicroseconds: clock.now().wall.microseconds,
            output: output,
            usage: Self.usage
        )
    }

    @discardableResult
    func stop(_ run: Int64, by teardown: Teardown) -> Bool {
        state.withLock { $0.stops.append((run, teardown)) }
        return end(run, .signalled(15))
    }

    func endAgain(_ run: Int64, by teardown: Teardown, asDaemon: Bool) async -> SignalAnswer? {
        state.withLock { state in
            state.endedAgain.append(run)
            if asDaemon { state.endedAsDaemon.append(run) }
            return state.refusesSignals ? .refused : .sent
        }
    }

    func kill(
        _ run: Int64,
        by teardown: Teardown,
        withRest: Bool,
        asDaemon: Bool
    ) async -> SignalAnswer? {
        if withRest { state.withLock { $0.endedWithRest.append(run) } }
        return stop(run, by: teardown) ? .sent : .gone
    }

    // It minds nothing beyond the daemon.
    func detach() async {}
    func attachOthers(_ changed: @escaping @Sendable (_ node: String, RunnerChange) -> Void) {}
    func awaitBegins(of runs: [Int64], whereOffered: Bool) async {
        state.withLock { $0.awaited.append((runs, whereOffered)) }
    }
    func passed(_ runs: [Int64: OutputPosition]) {}

    @discardableResult
    private func end(_ run: Int64, _ outcome: RunOutcome) -> Bool {
        if ignoresSignals { return true }
        let held = state.withLock { $0.held.removeValue(forKey: run) }
        held?.resume(returning: outcome)
        return held != nil
    }
}

/// Keeps every event that was published, in order.
final class RecordingSink: EventPublisher {
    private let events = Locked<[Event]>([])
    private let first = Locked<Once?>(nil)

    private struct Once {
        let body: @Sendable () -> Void
    }

    func publish(_ event: Event) {
        events.withLock { $0.append(event) }
        first.withLock { $0.take() }?.body()
    }

    /// Has `body` called once, as the next event is published.
    func atNext(_ body: @escaping @Sendable () -> Void) { first.withLock { $0 = Once(body: body) } }

    var all: [Event] { events.withLock { $0 } }
    func all(_ type: Event.Kind) -> [Event] { all.filter { $0.type == type } }
}

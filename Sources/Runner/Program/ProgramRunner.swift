// SPDX-License-Identifier: Apache-2.0

package import Cluster
package import JobModel
package import LinuxSystem
import Locks
package import SystemPackage
package import TimerControl

/// Runs commands through `timerd-runner`, a process of its own that lives on without the daemon.
///
/// Unchecked: `connection` and what is said over it are touched on the loop's thread alone.
package final class ProgramRunner: CommandRunner, @unchecked Sendable {
    /// Where the runner is.
    enum Place {
        /// Nobody has asked for it yet, or it was left.
        case none
        /// It has not said all that it knows.
        case greeting(any RunnerLink, RunnerGreeting)
        case linked(any RunnerLink)
        /// It is lost, and looked for again and again.
        case away
        /// It was told to leave, and is waited for to end.
        case leaving
    }

    struct State {
        /// What control groups it has for runs; nil until it has said so.
        var groups: ControlGroups?
        /// Who it is, or was before it was lost.
        var runner: RunnerReport.Welcome?
        var entries: [Int64: RunEntry] = [:]
        /// Whether a run was refused for want of room since.
        var isFull = false
    }

    let loop: any RunnerLoop
    /// How another node's runner is dealt with; nil for this node's own.
    let remote: RemoteTerms?
    /// What this daemon speaks; the runner may speak less.
    let language: RunnerProtocol
    let state = Locked(State())
    let now: @Sendable () -> Int64
    /// Until when this node may begin anything; nil for a daemon alone.
    let fence: Fence?
    /// How long the first one may take to say what it knows, while all waits for it; nil for as long as any other.
    let firstPatience: Duration?
    var connection = Place.none
    /// Who waits for the first greeting.
    var attaching: CheckedContinuation<KnownRuns, any Error>?
    var changed: @Sendable (RunnerChange) -> Void = { _ in }
    /// How often in a row there was no runner, or not for long.
    var failures = 0
    /// How many reports this connection has brought, and how many it had as the last order was sent that is answered.
    var heard = 0
    var heardBefore = 0
    /// Whether a check for a hung runner is scheduled.
    var isQuestioned = false
    /// The runner that was told to leave last.
    var left: RunnerReport.Welcome?
    /// What its node is offered.
    var offers = OfferQueue()
    /// Whether it was found to hang.
    var isSilent = false
    /// What was told of it while it goes on and does not listen; nil while it does.
    var heldReason: String?
    /// Whether its node has not said what it knows since it was lost, and how often it was.
    var isAbsent = false
    /// Whether this daemon minds no run any more.
    var hasLeft = false
    var losses = 0
    /// How many connections there were.
    var looks = 0
    /// Whether a check for an absent node is scheduled.
    var isMinded = false

    /// `now` is the wall clock, in µs since 1970.
    init(
        on loop: any RunnerLoop,
        speaking language: RunnerProtocol = .current,
        remote: RemoteTerms? = nil,
        fence: Fence? = nil,
        firstPatience: Duration? = nil,
        now: @escaping @Sendable () -> Int64
    ) {
        self.loop = loop
        self.remote = remote
        self.fence = fence
        self.firstPatience = firstPatience
        self.language = language
        self.now = now
    }

    /// `connect` opens a connection with the runner, and starts one where there is none; `holder` says which process has its
    /// place, as far as that is known.
    package convenience init(
        on loop: EpollLoop,
        fence: Fence? = nil,
        firstPatience: Duration? = nil,
        now: @escaping @Sendable () -> Int64,
        connect: @escaping @Sendable () throws(RunnerUnreachable) -> FileDescriptor,
        holder: @escaping @Sendable () -> Int32? = { nil }
    ) {
        self.init(
            on: SocketRunnerLoop(loop: loop, holds: holder, connect: connect),
            fence: fence,
            firstPatience: firstPatience,
            now: now
        )
    }

    // MARK: - From any thread

    package var known: KnownRuns {
        state.withLock { state in
            var known = KnownRuns(
                epoch: state.runner?.epoch ?? 0,
                pid: state.runner?.pid,
                release: state.runner?.release,
                runs: state.entries.compactMapValues(\.known)
            )
            for (run, entry) in state.entries where run > 0 && entry.isStray {
                known.strays.insert(run)
            }
            return known
        }
    }

    package func attach(_ changed: @escaping @Sendable (RunnerChange) -> Void) async throws
        -> KnownRuns
    {
        try await withCheckedThrowingContinuation { attached in
            loop.perform {
                self.changed = changed
                self.attaching = attached
                self.look()
            }
        }
    }

    package var controlGroups: ControlGroups? { state.withLock { $0.groups } }

    package func run(
        _ request: RunRequest,
        started: @escaping @Sendable (KnownRun) -> Void
    ) async throws(RunBreak) -> RunResult {
        do throws(StartRefusal) {
            try request.check()
        } catch {
            return .notStarted(error, at: now())
        }
        let isOfBefore = state.withLock { state in
            // By a restored database, a daemon before has used a number that this one takes for a new one.
            if state.entries[request.run]?.isOfBefore == true { return true }
            let entry = RunEntry(request, started)
            let previous = state.entries.updateValue(entry, forKey: request.run)
            // A daemon gives each number once: those of runs come from the store, those of notices count the tries.
            precondition(previous == nil, "run \(request.run) is begun while it is in progress")
            return false
        }
        guard !isOfBefore else {
            throw .notBegun("timerd-runner still minds what a daemon before began by its number")
        }
        return try await end(of: request) { self.begin(request) }
    }

    package func takeUp(
        _ request: RunRequest,
        started: @escaping @Sendable (KnownRun) -> Void
    ) async throws(RunBreak) -> RunResult {
        state.withLock { state in
            state.entries[request.run]?.take(request, started)
            state.entries[request.run]?.isForgotten = false
        }
        return try await end(of: request) { self.tellWhatIsKnown(of: request.run) }
    }

    /// Waits for the end of a run that has an entry; `begin` is called on the loop's thread once somebody waits.
    private func end(
        of request: RunRequest,
        _ begin: @escaping @Sendable () -> Void
    ) async throws(RunBreak) -> RunResult {
        // There is an entry before this: of a task that is cancelled already, the handler is called first.
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { done in
                let isThere = state.withLock { state in
                    state.entries[request.run]?.done = done
                    return state.entries[request.run] != nil
                }
                guard isThere else { return done.resume(returning: .failure(.left)) }
                loop.perform(begin)
            }
        } onCancel: {
            stop(request.run, RunEnding(teardown: request.teardown, withAll: true))
        }
        return try result.get()
    }

    @discardableResult
    package func stop(_ run: Int64, by teardown: Teardown) -> Bool {
        stop(run, RunEnding(teardown: teardown))
    }

    @discardableResult
    private func stop(_ run: Int64, _ ending: RunEnding) -> Bool {
        let isInProgress = state.withLock { $0.entries[run]?.isInProgress == true }
        if isInProgress { loop.perform { self.end(run, ending) } }
        return isInProgress
    }

    package func kill(_ run: Int64, by teardown: Teardown, withRest: Bool = false, asDaemon: Bool)
        async -> SignalAnswer?
    {
        let ending = RunEnding(teardown: teardown, asRunner: asDaemon, withRest: withRest)
        return await answer(to: ending, of: run)
    }

    package func endAgain(
        _ run: Int64,
        by teardown: Teardown,
        asDaemon: Bool
    ) async -> SignalAnswer? {
        await answer(
            to: RunEnding(teardown: teardown, asRunner: asDaemon, isAgain: true),
            of: run
        )
    }

    /// Begins to end a run; returns what came of the first signal.
    private func answer(to ending: RunEnding, of run: Int64) async -> SignalAnswer? {
        await withCheckedContinuation { answer in
            let isInProgress = state.withLock { state in
                guard state.entries[run]?.isInProgress == true else { return false }
                state.entries[run]?.answers.append(answer)
                return true
            }
            guard isInProgress else { return answer.resume(returning: .gone) }
            loop.perform { self.end(run, ending) }
        }
    }

    package func stored(_ run: Int64) {
        let isOver = state.withLock { state in
            guard state.entries[run]?.isInProgress == true else {
                let entry = state.entries.removeValue(forKey: run)
                for answer in entry?.answers ?? [] { answer.resume(returning: .gone) }
                return true
            }
            state.entries[run]?.isForgotten = true
            return false
        }
        if isOver { loop.perform { self.forget(run) } }
    }

    /// Notes up to where each run's output was forwarded; a later daemon continues there.
    package func passed(_ runs: [Int64: OutputPosition]) {
        loop.perform {
            // To a runner that cannot keep it nothing is said: a later daemon passes on once more what it has.
            guard case .linked(let link) = self.connection, let runner = self.current,
                self.language.has(.passed, at: runner.version)
            else { return }
            for (run, end) in runs {
                link.send(.passed(run: run, stdout: end.stdout, stderr: end.stderr))
            }
        }
    }

    package func detach() async {
        await withCheckedContinuation { done in
            loop.perform {
                self.leave()
                done.resume()
            }
        }
    }

    // MARK: - On the loop's thread

    /// Who the runner is, or was before it was lost.
    var current: RunnerReport.Welcome? { state.withLock { $0.runner } }

    private func begin(_ request: RunRequest) {
        // The last look: what begins here while another node leads could begin there, too.
        guard fence?.isOpen ?? true else {
            return complete(request.run, .failure(.notBegun("this node leads no more")))
        }
        guard remote != nil || request.start.begin() else { return refuse(request.run, .withdrawn) }
        guard case .linked(let link) = connection else {
            return complete(request.run, .failure(.notBegun("timerd-runner does not answer")))
        }
        // The next daemon would call it interrupted, if this one died before the order is read.
        if let epoch = request.epoch, current?.epoch != epoch {
            return complete(request.run, .failure(.notBegun("it is another timerd-runner by now")))
        }
        guard remote == nil else { return offer(request, over: link) }
        if let runner = current, let part = language.lack(of: request, at: runner.version) {
            return refuse(request.run, .lacks(part, runner))
        }
        let entry = state.withLock { state in
            state.entries[request.run]?.isOrdered = true
            return state.entries[request.run]
        }
        guard let command = entry?.command else { return }
        var request = request
        // A runner that is stopped reads it when another node may lead.
        request.latest = fence.map { Fence.now() + $0.remaining }
        // The kernel takes no command as long as what a runner does not take.
        guard link.send(.start(request, files: command.files)) else {
            return refuse(request.run, command.refusal(.argListTooLong))
        }
        expectAnswer(over: link)
        if let wish = entry?.wish { end(request.run, wish) }
    }

    /// What somebody who takes up a run is to hear of it at once.
    func tellWhatIsKnown(of run: Int64) {
        guard let entry = state.withLock({ $0.entries[run] }) else { return }
        if let known = entry.known, known.phase != .starting, entry.end?.failure == nil {
            tellStart(of: run, known)
        }
        if !entry.outlasting.isEmpty { entry.request?.outlasted(entry.outlasting) }
        if let result = entry.result { return complete(run, .success(result)) }
        // The runner was not heard when this daemon began, and was since: it said nothing of this run.
        if remote == nil, entry.known == nil, case .linked = connection {
            giveUp(unknown: run, entry, isSame: false)
        }
    }

    /// Tells whoever waits for a run that it has begun, once.
    func tellStart(of run: Int64, _ known: KnownRun) {
        let entry = state.withLock { state in
            defer {
                if state.entries[run]?.request != nil { state.entries[run]?.isStartTold = true }
                state.entries[run]?.beginners = []
            }
            return state.entries[run]
        }
        for beginner in entry?.beginners ?? [] { beginner.resume() }
        guard let entry, entry.request != nil, !entry.isStartTold else { return }
        entry.started(known)
    }

    private func forget(_ run: Int64) {
        if case .linked(let link) = connection { link.send(.stored(run: run)) }
        noteRoom()
        replaceIfIdle()
    }
}

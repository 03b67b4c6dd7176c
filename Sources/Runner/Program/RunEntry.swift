// SPDX-License-Identifier: Apache-2.0

import JobModel
import TimerControl

/// A run that this daemon began or takes up, or that the runner knows of a daemon before.
struct RunEntry: Sendable {
    /// Keeps what it writes.
    var output: RunOutput
    /// What it was begun with; nil while nobody has taken it up.
    var request: RunRequest?
    var command: CommandLookup?
    var started: @Sendable (KnownRun) -> Void = { _ in }
    /// Who waits for its end.
    var done: CheckedContinuation<Result<RunResult, RunBreak>, Never>?
    /// Whether the runner has been asked to start it; how to end it then, if somebody wanted that before.
    var isOrdered = false
    var wish: RunEnding?
    /// How the runner was asked to end it, until it says what came of that.
    var asked: RunEnding?
    /// Who waits for what came of a signal.
    var answers: [CheckedContinuation<SignalAnswer?, Never>] = []
    /// Who waits until it is known whether it has begun.
    var beginners: [CheckedContinuation<Void, Never>] = []
    /// Whether the time has passed in which its node could begin it.
    var isSettled = false
    /// What the runner has said of it.
    var known: KnownRun?
    /// Whether whoever waits for it has heard that it has begun.
    var isStartTold = false
    /// The epoch of the runner that was asked for it; nil where that is not known.
    var epoch: Int64?
    /// Why it could not begin, in its node's words.
    var words: String?
    /// How it ended; kept until that is stored.
    var end: RunnerReport.End?
    /// Those whom its owner could not end; each runner's greeting is followed by them again.
    var outlasting: [Int32] = []
    /// When it was found that the runner which had it is gone, in µs since 1970; kept until that is stored.
    var lostAt: Int64?
    /// Up to where a daemon before has passed on what it wrote.
    var passed = OutputPosition()
    /// Whether nobody needs its end.
    var isForgotten = false
    /// Whether a daemon before has begun it: its job may have been changed since.
    let isOfBefore: Bool

    init(_ request: RunRequest, _ started: @escaping @Sendable (KnownRun) -> Void) {
        isOfBefore = false
        output = request.output
        self.request = request
        command = CommandLookup(request)
        epoch = request.epoch
        self.started = started
    }

    /// The entry of a run that a daemon before has asked another node's runner for, which has not been heard yet.
    init(expected epoch: Int64?) {
        isOfBefore = true
        output = RunOutput()
        isOrdered = true
        // The word of the node that led before is good for no longer than its lease.
        isSettled = true
        self.epoch = epoch
    }

    /// The entry of a run that the runner knows, and nobody has taken up.
    init(known: KnownRun) {
        isOfBefore = true
        passed = known.passed
        output = RunOutput(limit: known.outputKept)
        isOrdered = true
        self.known = known
    }

    /// Is taken up: what came of it so far goes to the request's output.
    ///
    /// Its job may have another command since, or none: what runs is what was ordered.
    mutating func take(_ request: RunRequest, _ started: @escaping @Sendable (KnownRun) -> Void) {
        output.copy(to: request.output, passed: passed)
        output = request.output
        self.request = request
        command = request.argv.isEmpty ? nil : CommandLookup(request)
        self.started = started
    }

    /// The runner has said what it knows of it: of one that was expected, by whose rules its output is kept.
    mutating func hear(_ known: KnownRun) {
        if isOfBefore, self.known == nil {
            passed = known.passed
            output.goOn(limit: known.outputKept, passed: passed)
        }
        self.known = known
    }

    /// Whether it has not begun, as far as is known, and still may.
    var mayBegin: Bool { isInProgress && known == nil && !isSettled }

    /// Whether its end has not come.
    var isInProgress: Bool { end == nil && lostAt == nil }

    /// Whether it goes on, and nobody needs its end.
    var isStray: Bool {
        guard isForgotten, isInProgress, let known else { return false }
        return known.phase != .ended
    }

    /// How it ended, once it has.
    var result: RunResult? {
        guard let end else { return lostAt.map(interrupted(at:)) }
        if let failure = end.failure {
            let reason =
                words.map { StartRefusal($0) } ?? command?.refusal(failure)
                ?? StartRefusal("cannot run its command")
            return .notStarted(reason, at: end.endedAtMicroseconds)
        }
        let outcome: RunOutcome =
            switch end.outcome {
            case .exited: .exited(end.code)
            case .signalled where end.wasEndedForMemory:
                .outOfMemory(request?.limits.memoryWords ?? "")
            case .signalled: .signalled(end.code)
            case .timedOut: .timedOut
            case .notStarted, .interrupted: .interrupted
            }
        return RunResult(
            outcome: outcome,
            startedAtMicroseconds: end.startedAtMicroseconds,
            endedAtMicroseconds: end.endedAtMicroseconds,
            output: output.captured,
            usage: end.usage,
            survivors: end.survivors
        )
    }

    private func interrupted(at date: Int64) -> RunResult {
        // One that was on its way to its command, or of which nothing was heard, may never have begun.
        let begun = known.flatMap { $0.phase == .starting ? nil : $0 }
        return RunResult(
            outcome: .interrupted,
            startedAtMicroseconds: begun?.startedAtMicroseconds,
            endedAtMicroseconds: date,
            output: output.captured
        )
    }
}

extension KnownRun {
    /// Up to where a daemon before has passed on what it wrote.
    fileprivate var passed: OutputPosition {
        OutputPosition(stdout: stdoutPassed, stderr: stderrPassed)
    }
}

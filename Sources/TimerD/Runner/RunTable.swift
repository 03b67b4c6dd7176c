// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks

/// The runs in progress, and the only way to send them signals.
///
/// `end` returns once no signal to the run's group is being sent, and none is sent after it. The leader is
/// reaped only then, so its number cannot be reused while somebody signals it.
final class RunTable: Sendable {
    private struct Run {
        /// Nil while there is no process yet.
        var group: ProcessGroup?
        /// Whether the process has become the command; until then it may still run as the daemon's user.
        var isCommand = false
        /// How to end the process as soon as there is one; nil to let it run.
        var wish: Teardown?
        /// How many signals are being sent.
        var signals = 0
        /// The caller of `end` that waits until `signals` is 0; from here on no other signal is sent.
        var end: CheckedContinuation<Void, Never>?
        var isEnding = false
    }

    private let runs = Locked<[Int64: Run]>([:])
    /// For signals that are sent with the rights of another user.
    private let threads: BlockingThreads

    init(threads: BlockingThreads) { self.threads = threads }

    func begin(_ run: Int64) {
        let previous = runs.withLock { $0.updateValue(Run(), forKey: run) }
        // Run numbers come from the store, which gives each one once.
        precondition(previous == nil, "run \(run) is begun while it is in progress")
    }

    /// Notes the run's process; ends it at once if the run was stopped before.
    func start(_ run: Int64, as group: ProcessGroup) {
        let wish: Teardown? = runs.withLock { runs in
            runs[run]?.group = group
            return runs[run]?.wish
        }
        if let wish { tearDown(run, by: wish) }
    }

    /// The process has become the command.
    func noteCommand(_ run: Int64) {
        runs.withLock { $0[run]?.isCommand = true }
    }

    /// Forgets the run; returns once no signal is being sent to it, and none will be.
    func end(_ run: Int64) async {
        await withCheckedContinuation { continuation in
            let isIdle = runs.withLock { runs in
                guard let signals = runs[run]?.signals, signals > 0 else {
                    runs[run] = nil
                    return true
                }
                runs[run]?.isEnding = true
                runs[run]?.end = continuation
                return false
            }
            if isIdle { continuation.resume() }
        }
    }

    /// Begins to end the run; false if it is not in progress.
    ///
    /// With the daemon's own rights the first signal has been sent when this returns; with the owner's it is
    /// on its way.
    func stop(_ run: Int64, by teardown: Teardown) -> Bool {
        guard let group = wish(run, teardown) else { return false }
        if let group { tearDown(run, by: teardown, group) }
        return true
    }

    /// Begins to end the run; returns what came of the first signal, nil if there is no process yet.
    ///
    /// If that was refused, no further signal is sent. `asDaemon`: signals with the daemon's own rights,
    /// whoever the run's owner is.
    func kill(_ run: Int64, by teardown: Teardown, asDaemon: Bool) async -> SignalAnswer? {
        guard let group = wish(run, teardown) else { return .gone }
        guard var group else { return nil }
        if asDaemon { group.owner = nil }
        let answer = await sendFirst(teardown.signals[0].signal, to: run, group)
        if answer == .sent || answer == .unknown { tearDownFurther(run, by: teardown, group) }
        return answer
    }

    /// Begins to end a run at its timeout.
    ///
    /// Calls `outlasted` with the run's living processes if its owner could signal none of them.
    func timeOut(
        _ run: Int64,
        by teardown: Teardown,
        _ outlasted: @escaping @Sendable ([pid_t]) -> Void
    ) {
        guard let group = wish(run, teardown) ?? nil else { return }
        Task {
            var answers = [await sendFirst(teardown.signals[0].signal, to: run, group)]
            guard answers != [.gone] else { return }
            answers += try await sendFurther(run, by: teardown, group)
            guard answers.allSatisfy({ $0 == .refused }) else { return }
            outlasted(await group.onThread(threads) { group.livingMembers ?? [] })
        }
    }

    /// The run's group: nil if the run is not in progress, `.some(nil)` if it has no process yet.
    ///
    /// Without a process the run is ended as soon as it has one.
    private func wish(_ run: Int64, _ teardown: Teardown) -> ProcessGroup?? {
        runs.withLock { runs in
            guard let known = runs[run], !known.isEnding else { return .none }
            if known.group == nil { runs[run]?.wish = teardown }
            return .some(known.group)
        }
    }

    private func tearDown(_ run: Int64, by teardown: Teardown) {
        guard let group = runs.withLock({ $0[run]?.group }) else { return }
        tearDown(run, by: teardown, group)
    }

    /// Sends the first signal now, and the others later unless the run has ended by then.
    private func tearDown(_ run: Int64, by teardown: Teardown, _ group: ProcessGroup) {
        let first = teardown.signals[0].signal
        if group.owner == nil {
            guard send(first, to: run, group) != .gone else { return }
            return tearDownFurther(run, by: teardown, group)
        }
        Task {
            guard await sendFirst(first, to: run, group) != .gone else { return }
            tearDownFurther(run, by: teardown, group)
        }
    }

    private func tearDownFurther(_ run: Int64, by teardown: Teardown, _ group: ProcessGroup) {
        guard teardown.signals.count > 1 else { return }
        Task { try await sendFurther(run, by: teardown, group) }
    }

    /// Sends the signals after the first, each after the grace of the one before, unless the run has ended.
    ///
    /// - Returns: the answer to each signal.
    @discardableResult
    private func sendFurther(
        _ run: Int64,
        by teardown: Teardown,
        _ group: ProcessGroup
    ) async throws -> [SignalAnswer] {
        let steps = teardown.signals
        var answers: [SignalAnswer] = []
        for (step, next) in zip(steps, steps.dropFirst()) {
            try await Task.sleep(for: step.grace)
            let answer = await group.onThread(threads) { self.send(next.signal, to: run, group) }
            answers.append(answer)
            guard answer != .gone else { break }
        }
        return answers
    }

    /// Sends the first signal, and tries again for up to half a second until the child runs as its owner.
    ///
    /// Until then the child runs as the daemon's user, and its owner may not signal it. That time is short:
    /// nothing the child does before that blocks.
    private func sendFirst(_ signal: Int32, to run: Int64, _ group: ProcessGroup) async
        -> SignalAnswer
    {
        for _ in 1...100 {
            let isCommand = runs.withLock { $0[run]?.isCommand ?? true }
            let answer = await group.onThread(threads) { self.send(signal, to: run, group) }
            guard answer == .refused, !isCommand else { return answer }
            // try?: nobody cancels a task that ends processes.
            try? await Task.sleep(for: .milliseconds(5))
        }
        return .refused
    }

    /// Sends a signal; `gone` if the run has no process (any more).
    private func send(_ signal: Int32, to run: Int64, _ group: ProcessGroup) -> SignalAnswer {
        let mayBegin = runs.withLock { runs in
            guard let known = runs[run], known.group != nil, !known.isEnding else { return false }
            runs[run]?.signals += 1
            return true
        }
        guard mayBegin else { return .gone }
        let answer = group.send(signal, fromTheStart: true)
        let end = runs.withLock { runs -> CheckedContinuation<Void, Never>? in
            runs[run]?.signals -= 1
            guard let known = runs[run], known.isEnding, known.signals == 0 else { return nil }
            runs[run] = nil
            return known.end
        }
        end?.resume()
        return answer
    }
}

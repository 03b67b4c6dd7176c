// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import Synchronization
import SystemPackage

/// A thread that works through a queue in batches: what was queued during one batch is the next.
///
/// Everything runs strictly in the order in which it was queued: jobs of the actors whose executor
/// this is, and closures. After each batch comes a hook, in which the owner of a transaction
/// commits it, so that one commit serves all that came together. With nothing to do the thread
/// sleeps in the kernel. It lives, and keeps this object alive, until `stop`.
final class StoreThread: StoreLoop {
    /// A batch is at most so many items, so that the first of them is not kept waiting.
    static let batchLimit = 512
    /// So many items are taken at once, deferred or not: half a batch, so that the other half has room to come
    /// meanwhile.
    static let deferredLimit = 256

    private enum Item {
        case job(UnownedJob)
        case work(@Sendable () -> Void)
    }

    private enum Phase {
        case running
        case stopping
        case ended
    }

    private struct State {
        var items: [Item] = []
        /// When the items must be taken at the latest; nil for whenever others are.
        var deadline: SuspendingClock.Instant?
        /// What is queued at a time of its own.
        var later: [(date: SuspendingClock.Instant, work: @Sendable () -> Void)] = []
        var phase = Phase.running
        var afterBatch: @Sendable () -> Void = {}
        var stopped: [CheckedContinuation<Void, Never>] = []

        /// Queues what has its time now; returns when the next batch has to begin at the latest, nil for never.
        mutating func nextDeadline() -> SuspendingClock.Instant? {
            guard !later.isEmpty else { return deadline }
            let now = SuspendingClock.now
            let due = later.filter { $0.date <= now }
            if !due.isEmpty {
                later.removeAll { $0.date <= now }
                items += due.map { .work($0.work) }
                deadline = now
            }
            return ([deadline].compactMap(\.self) + later.map(\.date)).min()
        }
    }

    private let state = Monitor(State())
    private let thread = Atomic<pthread_t>(0)

    /// Starts the thread.
    ///
    /// `name` is what `ps -L` and `top -H` show, of at most 15 bytes.
    init(name: String) {
        do throws(Errno) {
            try SystemThread.start(named: name) { self.run() }
        } catch {
            // It fails only where the process may have no more threads, and a daemon that has just
            // begun cannot go on without this one.
            preconditionFailure("cannot start thread '\(name)': \(error.text)")
        }
    }

    // MARK: - From any thread

    /// Queues a job of an actor whose executor this is.
    func enqueue(_ job: consuming ExecutorJob) {
        let isQueued = append(.job(UnownedJob(job)))
        // Dropping it would leave a task waiting for good: the owner stops the thread last.
        precondition(isQueued, "an actor was used after its thread had ended")
    }

    /// Queues `work`; false if the thread has ended, and `work` will not run.
    @discardableResult
    func perform(_ work: @escaping @Sendable () -> Void) -> Bool { append(.work(work)) }

    /// Queues `work` without waking the thread for it: it runs, in its place in the order, with the
    /// next batch, or by itself after `delay`, or once so much is queued that it makes a batch.
    @discardableResult
    func performDeferred(within delay: Duration, _ work: @escaping @Sendable () -> Void) -> Bool {
        append(.work(work), by: .now + delay)
    }

    /// Runs `work` after `delay`, however many batches come before; never, if the thread is stopped before.
    func perform(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        state.withLock { state in
            guard state.phase == .running else { return }
            state.later.append((.now + delay, work))
        }
        state.wakeOne()
    }

    /// Sets what is run, on the thread, after each batch from the next one on.
    func onBatchEnd(_ hook: @escaping @Sendable () -> Void) {
        state.withLock { $0.afterBatch = hook }
    }

    /// How much is queued and not taken up yet.
    var queueLength: Int { state.withLock { $0.items.count } }

    /// Ends the thread once it has run all that is queued; returns when it has.
    ///
    /// Not from code that runs on the thread, which would wait for itself.
    func stop() async {
        await withCheckedContinuation { continuation in
            let isEnded = state.withLock { state in
                guard state.phase != .ended else { return true }
                state.phase = .stopping
                state.later = []
                state.stopped.append(continuation)
                return false
            }
            if isEnded { continuation.resume() } else { state.wakeOne() }
        }
    }

    /// Called by `assumeIsolated` and `preconditionIsolated` of the actors on this thread.
    func checkIsolated() {
        // Elsewhere the actor's state would be open to a data race.
        precondition(
            thread.load(ordering: .relaxed) == pthread_self(),
            "not on the thread of the store"
        )
    }

    private func append(_ item: Item, by deadline: SuspendingClock.Instant = .now) -> Bool {
        var mustWake = false
        let isQueued = state.withLock { state in
            guard state.phase != .ended else { return false }
            state.items.append(item)
            let isMuch = state.items.count == Self.deferredLimit
            mustWake = isMuch || state.deadline.map { deadline < $0 } ?? true
            if mustWake { state.deadline = isMuch ? .now : deadline }
            return true
        }
        // After unlocking, or the thread would wake just to wait for the lock.
        if mustWake { state.wakeOne() }
        return isQueued
    }

    // MARK: - On the thread

    private func run() {
        thread.store(pthread_self(), ordering: .relaxed)
        while let batch = state.wait({ Self.nextBatch(&$0) }) {
            for item in batch {
                switch item {
                case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
                case .work(let work): work()
                }
            }
            state.withLock { $0.afterBatch }()
        }
        for continuation in state.withLock({ $0.stopped }) { continuation.resume() }
    }

    /// Takes what there is to do; nil at the end.
    private static func nextBatch(_ state: inout State) -> Monitor<State>.Look<[Item]?> {
        if state.phase == .running {
            let next = state.nextDeadline()
            guard let next, next <= .now else { return .wait(until: next) }
        }
        guard !state.items.isEmpty else {
            // Only `stop` ends the wait with nothing queued.
            state.phase = .ended
            return .found(nil)
        }
        guard state.items.count > batchLimit else {
            defer { (state.items, state.deadline) = ([], nil) }
            return .found(state.items)
        }
        defer { state.items.removeFirst(batchLimit) }
        state.deadline = .now
        return .found(Array(state.items.prefix(batchLimit)))
    }
}

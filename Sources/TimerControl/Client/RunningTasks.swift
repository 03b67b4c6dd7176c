// SPDX-License-Identifier: Apache-2.0

import Locks

/// The tasks that a worker works on, or has yet to tell of.
final class RunningTasks: Sendable {
    private struct Entry {
        var reference: TaskReference
        var work: Task<TaskResult, Never>
        /// Until when it is this worker's, as far as that knows.
        var leaseEnd: ContinuousClock.Instant
        var isLost = false
        /// What says what became of it.
        var telling: Task<Void, Never>?
    }

    private struct State {
        /// By the token: while this process stood still, a later attempt of a fire may have become this worker's as well.
        var entries: [RunID: Entry] = [:]
        var isStopping = false
        var isCancelled = false
    }

    private let state = Locked(State())
    /// How long a worker that is stopped goes on saying what became of a task, where the lease holds for as long.
    private static let longestTelling = Duration.seconds(30)
    /// How long it does so where nothing is to be waited for.
    static let shortestTelling = Duration.seconds(1)

    /// Whether all were cancelled, and whatever is added.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    var count: Int { state.withLock { $0.entries.count } }

    /// Of those that were not lost.
    var references: [TaskReference] {
        state.withLock { $0.entries.values.filter { !$0.isLost }.map(\.reference) }
    }

    /// An attempt begins; one of the same fire that still runs has lost its lease, or there would be no other.
    func add(
        _ reference: TaskReference,
        _ work: Task<TaskResult, Never>,
        until leaseEnd: ContinuousClock.Instant
    ) {
        let ended = state.withLock { state in
            let older = state.entries.values.filter { $0.reference.fire == reference.fire }
            for entry in older { state.entries[entry.reference.token]?.isLost = true }
            state.entries[reference.token] = Entry(
                reference: reference,
                work: work,
                leaseEnd: leaseEnd
            )
            return older.map(\.work) + (state.isCancelled ? [work] : [])
        }
        for work in ended { work.cancel() }
    }

    func remove(_ task: TaskReference) { state.withLock { $0.entries[task.token] = nil } }

    func extend(_ task: TaskReference, until leaseEnd: ContinuousClock.Instant) {
        state.withLock { $0.entries[task.token]?.leaseEnd = leaseEnd }
    }

    func isLost(_ task: TaskReference) -> Bool {
        state.withLock { $0.entries[task.token]?.isLost ?? false }
    }

    func lose(_ task: TaskReference) {
        let work = state.withLock { state in
            state.entries[task.token]?.isLost = true
            return state.entries[task.token]?.work
        }
        work?.cancel()
    }

    func cancelAll() {
        let works = state.withLock { state in
            state.isCancelled = true
            return state.entries.values.map(\.work)
        }
        for work in works { work.cancel() }
        endTellings()
    }

    // MARK: - What is told after the worker was stopped

    /// `telling` says what became of a task: it is cancelled once a worker that is stopped has tried for long enough.
    func tells(_ task: TaskReference, _ telling: Task<Void, Never>) {
        state.withLock { state in
            state.entries[task.token]?.telling = telling
            if state.isStopping { Self.limit(state.entries[task.token], state.isCancelled) }
        }
    }

    /// From now on a daemon that does not answer is not waited for without an end.
    func endTellings() {
        state.withLock { state in
            state.isStopping = true
            for entry in state.entries.values { Self.limit(entry, state.isCancelled) }
        }
    }

    private static func limit(_ entry: Entry?, _ isCancelled: Bool) {
        guard let entry, let telling = entry.telling else { return }
        let held = ContinuousClock.now.duration(to: entry.leaseEnd)
        let rest = isCancelled ? .zero : min(longestTelling, held)
        Task {
            // try?: nobody cancels this sleep. One that is over before it is cancelled does not mind.
            try? await Task.sleep(for: max(shortestTelling, rest))
            telling.cancel()
        }
    }
}

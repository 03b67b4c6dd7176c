// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Platform
import SystemPackage

/// The threads that tasks run on, a few and always the same; also those that wait for a time.
///
/// What blocks for long has threads of its own elsewhere. A thread is started when there is work for it,
/// and sleeps without any wake-up while there is none.
final class TaskThreads: TaskExecutor {
    /// Two more than a small machine has processors: one that a slow disk holds up delays no other.
    private static let limit = 4

    private struct Later {
        var date: SuspendingClock.Instant
        var job: UnownedJob
    }

    private struct State {
        var ready: Deque<UnownedJob> = []
        /// The first to come last.
        var later: [Later] = []
        var threads = 0
        var idle = 0
        /// Whether a thread sleeps until the first of `later`; all others sleep until they are woken.
        var isTimed = false
    }

    private let state = Monitor(State())

    /// Starts the first thread.
    ///
    /// - Throws: if the system refuses it; no job would ever be run.
    init() throws(Errno) {
        try startThread()
        state.withLock { $0.threads = 1 }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { state in
            state.ready.append(job)
            if state.ready.count > state.idle { startAnother(&state) }
        }
        state.wakeOne()
    }

    /// Has a job run after a time, during which the machine does not sleep.
    func enqueue(_ job: consuming ExecutorJob, after delay: Duration) {
        let later = Later(date: .now + delay, job: UnownedJob(job))
        let isSoonest = state.withLock { state in
            // Halving the stretch where it belongs: behind all that are later than it.
            var (low, high) = (0, state.later.count)
            while low < high {
                let middle = (low + high) / 2
                if state.later[middle].date > later.date { low = middle + 1 } else { high = middle }
            }
            state.later.insert(later, at: low)
            let isSoonest = low == state.later.count - 1
            // The thread that is timed, if one is, has another time now.
            if isSoonest { state.isTimed = false }
            return isSoonest
        }
        if isSoonest { state.wakeAll() }
    }

    private func startAnother(_ state: inout State) {
        guard state.threads < Self.limit else { return }
        // try?: without this thread the work waits for one of the others.
        if (try? startThread()) != nil { state.threads += 1 }
    }

    private func startThread() throws(Errno) {
        try SystemThread.start(named: "timerd-tasks") { self.serve() }
    }

    private func serve() -> Never {
        while true { next().runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Waits for the next job.
    private func next() -> UnownedJob {
        var isTimed = false
        state.withLock { $0.idle += 1 }
        let (job, isToHandOver) = state.wait { state in
            if isTimed { state.isTimed = false }
            isTimed = false
            if !state.later.isEmpty {
                let now = SuspendingClock.now
                while let first = state.later.last, first.date <= now {
                    state.ready.append(first.job)
                    state.later.removeLast()
                }
            }
            if let job = state.ready.popFirst() {
                state.idle -= 1
                let isToHandOver = !state.ready.isEmpty || !state.later.isEmpty && !state.isTimed
                // This job may take long.
                if isToHandOver, state.idle == 0 { startAnother(&state) }
                return .found((job, isToHandOver && state.idle > 0))
            }
            guard let first = state.later.last, !state.isTimed else { return .wait(until: nil) }
            state.isTimed = true
            isTimed = true
            return .wait(until: first.date)
        }
        // Of several that came due at once, and of the time to wait for, another thread takes care.
        if isToHandOver { state.wakeOne() }
        return job
    }
}

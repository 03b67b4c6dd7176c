// SPDX-License-Identifier: Apache-2.0

import Locks
import RunLoopTimers
import Schedules
import TimerControl

@testable import TimerD

/// A real thread with timers that fire when a test says so.
final class VirtualTimerLoop: TimerLoop {
    final class Timer: ArmedTimer {
        let date: Timestamp
        let number: Int
        let scheduler: Scheduler
        let call: TimerCall
        private let loop: VirtualTimerLoop

        init(
            _ date: Timestamp,
            _ number: Int,
            _ scheduler: Scheduler,
            _ loop: VirtualTimerLoop,
            _ call: TimerCall
        ) {
            self.date = date
            self.number = number
            self.scheduler = scheduler
            self.loop = loop
            self.call = call
        }

        func invalidate() { loop.remove(self) }
    }

    private struct State {
        var timers: [Int: Timer] = [:]
        var lastNumber = 0
        var performed = 0
        /// How many timers were installed by the work that runs, and by any one at most.
        var installed = 0
        var mostInstalled = 0
    }

    private let thread = RunLoopThread(name: "virtual")
    private let state = Locked(State())

    func stop() { thread.stop() }

    // MARK: - TimerLoop

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        perform { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { thread.checkIsolated() }

    @discardableResult func perform(_ work: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { $0.performed += 1 }
        return thread.perform { [self] in
            state.withLock { $0.installed = 0 }
            work()
        }
    }

    func arm(
        _ call: TimerCall,
        at date: Timestamp,
        tolerance: TimeSpan,
        for scheduler: Scheduler
    ) -> any ArmedTimer {
        state.withLock { state -> Timer in
            state.lastNumber += 1
            state.installed += 1
            state.mostInstalled = max(state.mostInstalled, state.installed)
            let timer = Timer(date, state.lastNumber, scheduler, self, call)
            state.timers[timer.number] = timer
            return timer
        }
    }

    private func remove(_ timer: Timer) {
        state.withLock { _ = $0.timers.removeValue(forKey: timer.number) }
    }

    // MARK: - For tests

    /// How many pieces of work it was given so far.
    var performed: Int { state.withLock { $0.performed } }
    var timerCount: Int { state.withLock { $0.timers.count } }
    /// The numbers of those that are armed, by the order in which they came.
    var armedNumbers: [Int] { state.withLock { $0.timers.keys.sorted() } }
    /// How many timers it was given so far.
    var timersMade: Int { state.withLock { $0.lastNumber } }

    /// How many were installed at most without a pause in which a timer might have fired.
    var mostInstalled: Int { state.withLock { $0.mostInstalled } }

    /// When the next timer is due.
    var firstDate: Timestamp? {
        state.withLock { $0.timers.values.lazy.map(\.date).min() }
    }

    /// Fires the timers of `date`, in the order in which they were armed; false if there are none.
    func fireTimers(of date: Timestamp) -> Bool {
        let timers = state.withLock { state in
            state.timers.values.filter { $0.date == date }.sorted { $0.number < $1.number }
        }
        for timer in timers {
            perform { [self] in
                // One that fired before it may have taken it out.
                guard state.withLock({ $0.timers.removeValue(forKey: timer.number) }) != nil
                else { return }
                timer.scheduler.assumeIsolated { $0.timerFired(for: timer.call) }
            }
        }
        return !timers.isEmpty
    }

    /// Returns when what was given before has run.
    func flush() async { await ask {} }

    /// What `body` says on the thread; does not count as work.
    func ask<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
        await withCheckedContinuation { continuation in
            thread.perform { continuation.resume(returning: body()) }
        }
    }
}

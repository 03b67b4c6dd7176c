// SPDX-License-Identifier: Apache-2.0

import Foundation
import RunLoopTimers
import Schedules
import TimerControl

/// The thread that installs the timers of jobs, and the scheduler's executor: the time seam.
///
/// Work that is enqueued or performed runs in the order in which it came.
protocol TimerLoop: SerialExecutor {
    /// Runs `work` on the thread, soon, and returns at once.
    ///
    /// - Returns: false once the loop has been stopped; `work` is not run then.
    @discardableResult func perform(_ work: @escaping @Sendable () -> Void) -> Bool

    /// Installs a timer for `job` that calls `scheduler` on the thread at `date` of the wall clock,
    /// or up to `tolerance` later; call on the thread.
    func arm(_ job: JobID, at date: Timestamp, tolerance: TimeSpan, for scheduler: Scheduler)
        -> any ArmedTimer

    /// The same for a fire whose command waits for `date`.
    func arm(_ fire: FireID, at date: Timestamp, for scheduler: Scheduler) -> any ArmedTimer

    /// The same for when due fires may have their turn.
    func armTurns(at date: Timestamp, for scheduler: Scheduler) -> any ArmedTimer

    /// The same for notices that wait for their time.
    func armNotices(at date: Timestamp, for scheduler: Scheduler) -> any ArmedTimer

    /// The same for a worker that waits no longer, or, where `waiter` is nil, for tasks whose time has come.
    func armTasks(at date: Timestamp, waiter: Int?, for scheduler: Scheduler) -> any ArmedTimer

    /// The same for a read that waits no longer.
    func armReading(_ reading: Int, at date: Timestamp, for scheduler: Scheduler) -> any ArmedTimer
}

/// A timer in the loop.
protocol ArmedTimer: Sendable {
    /// Takes the timer out of the loop; it does not fire any more.
    func invalidate()
}

extension WeakTimer: ArmedTimer {}

extension RunLoopThread: TimerLoop {
    func arm(_ job: JobID, at date: Timestamp, tolerance: TimeSpan, for scheduler: Scheduler)
        -> any ArmedTimer
    {
        let timer = WeakTimer(
            fireDate: date.date,
            tolerance: Double(tolerance.microseconds) / 1_000_000,
            userInfo: job,
            target: scheduler
        ) { scheduler, timer in
            guard let job = timer.userInfo as? JobID else { return }
            scheduler.assumeIsolated { $0.timerFired(job) }
        }
        add(timer)
        return timer
    }

    func arm(_ fire: FireID, at date: Timestamp, for scheduler: Scheduler) -> any ArmedTimer {
        let timer = WeakTimer(fireDate: date.date, userInfo: fire, target: scheduler) {
            scheduler,
            timer in
            guard let fire = timer.userInfo as? FireID else { return }
            scheduler.assumeIsolated { $0.waitIsOver(fire) }
        }
        add(timer)
        return timer
    }

    func armTurns(at date: Timestamp, for scheduler: Scheduler) -> any ArmedTimer {
        let timer = WeakTimer(fireDate: date.date, target: scheduler) { scheduler, _ in
            scheduler.assumeIsolated { $0.takeTurns() }
        }
        add(timer)
        return timer
    }

    func armNotices(at date: Timestamp, for scheduler: Scheduler) -> any ArmedTimer {
        let timer = WeakTimer(fireDate: date.date, target: scheduler) { scheduler, _ in
            scheduler.assumeIsolated { $0.lookAtNotices() }
        }
        add(timer)
        return timer
    }

    func armTasks(at date: Timestamp, waiter: Int?, for scheduler: Scheduler) -> any ArmedTimer {
        let timer = WeakTimer(fireDate: date.date, userInfo: waiter, target: scheduler) {
            scheduler,
            timer in
            let waiter = timer.userInfo as? Int
            scheduler.assumeIsolated { scheduler in
                if let waiter { scheduler.taskWaitIsOver(waiter) } else { scheduler.lookAtTasks() }
            }
        }
        add(timer)
        return timer
    }

    func armReading(_ reading: Int, at date: Timestamp, for scheduler: Scheduler) -> any ArmedTimer
    {
        let timer = WeakTimer(fireDate: date.date, userInfo: reading, target: scheduler) {
            scheduler,
            timer in
            guard let reading = timer.userInfo as? Int else { return }
            scheduler.assumeIsolated { $0.goOnReading(reading) }
        }
        add(timer)
        return timer
    }
}

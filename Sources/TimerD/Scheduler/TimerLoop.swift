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

    /// Installs a timer that calls `scheduler` on the thread at `date` of the wall clock, or up to `tolerance` later; call on
    /// the thread.
    func arm(
        _ call: TimerCall,
        at date: Timestamp,
        tolerance: TimeSpan,
        for scheduler: Scheduler
    ) -> any ArmedTimer
}

/// A timer in the loop.
protocol ArmedTimer: Sendable {
    /// Takes the timer out of the loop; it does not fire any more.
    func invalidate()
}

extension WeakTimer: ArmedTimer {}

extension TimerLoop {
    /// Installs a timer that calls `scheduler` on the thread at `date` of the wall clock; call on the thread.
    func arm(_ call: TimerCall, at date: Timestamp, for scheduler: Scheduler) -> any ArmedTimer {
        arm(call, at: date, tolerance: .zero, for: scheduler)
    }
}

extension RunLoopThread: TimerLoop {
    func arm(
        _ call: TimerCall,
        at date: Timestamp,
        tolerance: TimeSpan,
        for scheduler: Scheduler
    ) -> any ArmedTimer {
        let timer = WeakTimer(
            fireDate: date.date,
            tolerance: tolerance.inSeconds,
            userInfo: call,
            target: scheduler
        ) { scheduler, timer in
            guard let call = timer.userInfo as? TimerCall else { return }
            scheduler.assumeIsolated { $0.timerFired(for: call) }
        }
        add(timer)
        return timer
    }
}

/// What a timer calls the scheduler for.
enum TimerCall: Sendable {
    case job(JobID)
    /// A fire whose command waits for its date.
    case fire(FireID)
    /// Due fires may have their turn.
    case turns
    /// Notices that wait for their time.
    case notices
    /// Tasks whose time has come.
    case tasks
    /// A worker that waits no longer.
    case worker(Int)
    /// A read that waits no longer.
    case reading(Int)
    /// Descriptors that this process lacked.
    case shortage
}

extension Scheduler {
    func timerFired(for call: TimerCall) {
        switch call {
        case .job(let id): timerFired(id)
        case .fire(let id): goOn(id)
        case .turns: takeTurns()
        case .notices: lookAtNotices()
        case .tasks: lookAtTasks()
        case .worker(let number): taskWaitIsOver(number)
        case .reading(let number): goOnReading(number)
        case .shortage: shortageMayBeOver()
        }
    }
}

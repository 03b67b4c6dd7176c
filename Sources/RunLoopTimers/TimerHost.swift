// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Where timers call out: a ``RunLoopThread``, or a ``TimerQueue`` for a queue of Dispatch.
public protocol TimerHost: Sendable {
    /// Schedules `timer`, which calls out here and nowhere else, and keeps it until it is invalid.
    func add(_ timer: WeakTimer)
}

/// What a timer knows of the place where it calls out.
protocol TimerLoop: AnyObject, Sendable {
    /// Whether the caller is where the timers call out; as long as it is, none of them calls out elsewhere.
    var isCurrent: Bool { get }

    /// Runs `work` where the timers call out, soon, also after the loop has ended.
    func perform(_ work: @escaping @Sendable () -> Void)

    /// The timers of `mode`; nil if the loop has ended. Called where the timers call out.
    func timers(in mode: RunLoop.Mode) -> ModeTimers?

    /// Counts one timer more, or less, that is valid.
    func countValid(_ change: Int)
}

// SPDX-License-Identifier: Apache-2.0

@preconcurrency import CoreFoundation
import Foundation

/// Where a ``WeakTimer`` stands, and what may come next: decided here, under the timer's lock, and
/// carried out by the timer when it has let go of the lock.
struct WeakTimerState {
    /// What it takes to arm a timer.
    struct NextAlarm {
        let wakeUp: MonotonicTime
        /// nil if none is armed.
        let alarm: CFRunLoopTimer?
        let proxy: WeakTimerProxy
        let modes: [RunLoop.Mode]
    }

    private(set) var fireDate: Date
    /// In nanoseconds.
    var tolerance: Int64 {
        didSet { tolerance = max(0, tolerance) }
    }
    /// Its date is the fire date on the monotonic clock, once there is a loop.
    private(set) var rhythm: Rhythm
    var isValid = true
    /// nil until the timer is added, and again when it is out of its loop.
    private(set) var loop: ThreadLoop?
    private var modes: [RunLoop.Mode] = []
    /// In the run loop's list until it rings; only the timer's thread changes it.
    var alarm: CFRunLoopTimer?
    /// nil in an invalid timer.
    var proxy: WeakTimerProxy?
    private var isCallingOut = false
    /// The fire date was set during the callout that is running.
    private var isMoved = false

    init(fireDate: Date, interval: Int64?, tolerance: Int64) {
        self.fireDate = fireDate
        self.tolerance = max(0, tolerance)
        rhythm = Rhythm(due: MonotonicTime(nanoseconds: 0), interval: interval)
    }

    /// Notes where the timer belongs.
    ///
    /// - Returns: false for an invalid timer, which stays out.
    mutating func schedule(on loop: ThreadLoop, modes: [RunLoop.Mode]) -> Bool {
        guard isValid else { return false }
        // Two loops would call out on two threads, and the actor behind the target is on one.
        precondition(
            self.loop == nil || self.loop === loop,
            "a timer that has been added to one run loop thread cannot be added to another"
        )
        if self.loop == nil {
            self.loop = loop
            rhythm.move(to: MonotonicTime(fireDate))
        }
        self.modes += modes.filter { !self.modes.contains($0) }
        return true
    }

    mutating func move(to date: Date) {
        guard isValid else { return }
        fireDate = date
        isMoved = isCallingOut
        rhythm.move(to: MonotonicTime(date))
    }

    /// Begins a callout, unless the timer is invalid, or is calling out, or is not due.
    ///
    /// - Parameters:
    ///   - isDue: Whether the callout is for a date; else it is by hand.
    ///   - now: Read by the caller just before.
    /// - Returns: Whom to call, or nil.
    mutating func beginCallout(isDue: Bool, now: MonotonicTime) -> WeakTimerProxy? {
        guard isValid, !isCallingOut, let proxy else { return nil }
        if isDue {
            guard let moved = rhythm.begin(at: now) else { return nil }
            fireDate += Double(moved) / 1e9
        }
        isCallingOut = true
        isMoved = false
        return proxy
    }

    /// Ends the callout, and finds the next date.
    ///
    /// - Returns: Whether the timer fires again, if it is still valid.
    mutating func endCallout(isDue: Bool, now: MonotonicTime) -> Bool {
        isCallingOut = false
        if isMoved { return true }
        guard isDue else { return rhythm.interval != nil }
        guard rhythm.end(at: now) else { return false }
        fireDate = rhythm.due.date
        return true
    }

    /// nil while there is nothing to arm: the end of a callout looks again.
    func nextAlarm() -> NextAlarm? {
        guard isValid, !isCallingOut, let proxy else { return nil }
        return NextAlarm(
            wakeUp: rhythm.wakeUp(tolerance: tolerance),
            alarm: alarm,
            proxy: proxy,
            modes: modes
        )
    }

    /// Lets go of all that an invalid timer must not hold, and hands it to the caller, who frees it
    /// outside the lock.
    mutating func retire() -> (CFRunLoopTimer?, WeakTimerProxy?, ThreadLoop?) {
        defer {
            alarm = nil
            proxy = nil
            loop = nil
        }
        return (alarm, proxy, loop)
    }
}

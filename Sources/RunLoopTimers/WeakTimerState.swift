// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The state of a ``WeakTimer``, and what may come next.
///
/// Decided here, under the timer's lock, and carried out by the timer when it has released the lock.
struct WeakTimerState {
    /// Where a timer is armed, or can be.
    struct Place {
        let timers: ModeTimers
        /// nil while it is not armed there.
        var handle: TimerHeap<WeakTimer>.Handle?
    }

    /// What an invalid timer lets go of; freed by whoever gets it, outside the lock.
    struct Remains {
        let places: [Place]
        let callout: Callout?
        let userInfo: (any Sendable)?
        /// nil unless the loop counts the timer.
        let loop: (any TimerLoop)?
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
    private(set) var loop: (any TimerLoop)?
    /// The modes it was added for; only the timer's thread changes them and their handles.
    var places: [Place] = []
    /// Whether the loop counts it among its valid timers.
    private var isCounted = false
    /// nil in an invalid timer, as soon as it is not calling out.
    private(set) var callout: Callout?
    private var info: (any Sendable)?
    private var isCallingOut = false
    /// The fire date was set during the callout that is running.
    private var isMoved = false

    init(
        fireDate: Date,
        interval: Int64?,
        tolerance: Int64,
        userInfo: (any Sendable)?,
        callout: Callout
    ) {
        self.fireDate = fireDate
        self.tolerance = max(0, tolerance)
        self.info = userInfo
        self.callout = callout
        rhythm = Rhythm(due: MonotonicTime(nanoseconds: 0), interval: interval)
    }

    /// nil in an invalid timer, except for the callout that is running.
    var userInfo: (any Sendable)? { isValid || isCallingOut ? info : nil }

    /// Notes where the timer belongs.
    ///
    /// - Returns: false for an invalid timer, which stays out.
    mutating func schedule(on loop: any TimerLoop) -> Bool {
        guard isValid else { return false }
        // Two loops would call out on two threads, and the actor behind the target is on one.
        precondition(
            self.loop == nil || self.loop === loop,
            "a timer that has been added to one thread or queue cannot be added to another"
        )
        if self.loop == nil {
            self.loop = loop
            rhythm.move(to: MonotonicTime(fireDate))
        }
        return true
    }

    /// Notes that the loop counts the timer.
    ///
    /// - Returns: Whether it has to: not for an invalid timer, nor twice.
    mutating func count() -> Bool {
        guard isValid, !isCounted else { return false }
        isCounted = true
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
    /// - Returns: What to call, or nil.
    mutating func beginCallout(isDue: Bool, now: MonotonicTime) -> Callout? {
        guard isValid, !isCallingOut, let callout else { return nil }
        if isDue {
            guard let moved = rhythm.begin(at: now) else { return nil }
            fireDate += Double(moved) / 1e9
        }
        isCallingOut = true
        isMoved = false
        return callout
    }

    /// Ends the callout, and finds the next date.
    ///
    /// - Returns: Whether the timer fires again, if its target is still there.
    mutating func endCallout(isDue: Bool, now: MonotonicTime) -> Bool {
        isCallingOut = false
        guard isValid else { return false }
        if isMoved { return true }
        guard isDue else { return rhythm.interval != nil }
        guard rhythm.end(at: now) else { return false }
        fireDate = rhythm.due.date
        return true
    }

    /// When and where to ring next; nil for an invalid timer, and during a callout, after which it is armed
    /// again.
    func nextAlarm() -> (wakeUp: MonotonicTime, places: [Place])? {
        guard isValid, !isCallingOut else { return nil }
        return (rhythm.wakeUp(tolerance: tolerance), places)
    }

    /// Lets go of all that an invalid timer must not hold.
    ///
    /// - Returns: nil during a callout, whose end asks again.
    mutating func retire() -> Remains? {
        guard !isValid, !isCallingOut else { return nil }
        defer {
            places = []
            callout = nil
            info = nil
            loop = nil
            isCounted = false
        }
        return Remains(
            places: places,
            callout: callout,
            userInfo: info,
            loop: isCounted ? loop : nil
        )
    }
}

// SPDX-License-Identifier: Apache-2.0

import Locks

/// What wakes a run loop or a queue, once, to ring its ``ModeTimers``.
protocol Alarm: Sendable {
    /// Sets the alarm to ring `timers` at `time`; nil for never.
    func set(to time: MonotonicTime?, ringing timers: ModeTimers)

    /// Called first when the alarm rings: from then on it is not set.
    func hasRung()
}

/// The timers of one mode of a run loop, or of a queue, behind one alarm for the soonest of them.
///
/// A run loop keeps its timers in an array that it searches from the start for each fire and each
/// invalidation; with one alarm that array has one element, and the many are in a heap. Everything
/// here is called on the thread of the run loop, or on the queue.
final class ModeTimers: Sendable {
    private struct State {
        var heap = TimerHeap<WeakTimer>()
        /// What the alarm is set to; nil if it is not set, or has just rung.
        var alarmTime: MonotonicTime?
        /// When the last pass over the timers that are due began.
        var lastPass = MonotonicTime(nanoseconds: .min)
        /// The passes that are running: more than one where a callout runs the loop.
        var passes = 0
        var isClosed = false

        /// Whether the alarm must be set, and to what.
        ///
        /// During a pass an alarm that is too early stays: the pass sets it once, at its end.
        mutating func takeAlarm() -> MonotonicTime?? {
            guard !isClosed else { return nil }
            let next = heap.first?.time
            guard next != alarmTime else { return nil }
            if passes > 0, let alarmTime, next.map({ alarmTime < $0 }) ?? true { return nil }
            alarmTime = next
            return .some(next)
        }
    }

    private let alarm: any Alarm
    private let state = Locked(State())

    init(alarm: any Alarm) {
        self.alarm = alarm
    }

    /// Puts `timer` where it is rung at `time`, or soon after.
    ///
    /// - Parameters:
    ///   - timer: Kept until it rings or is removed.
    ///   - time: During a pass, one that has come already is put off until the next pass.
    ///   - handle: Where the timer is now; nil if it is nowhere.
    /// - Returns: Where it is; nil if the timers are closed.
    func set(_ timer: WeakTimer, at time: MonotonicTime, handle: TimerHeap<WeakTimer>.Handle?)
        -> TimerHeap<WeakTimer>.Handle?
    {
        let (handle, change) = state.withLock { state in
            guard !state.isClosed else { return (Int?.none, MonotonicTime??.none) }
            // Behind all timers that are due in the running pass: otherwise a timer that is always due would
            // be rung without end.
            let time = max(time, state.lastPass + 1)
            var place = handle
            if let handle {
                state.heap.move(handle, to: time)
            } else {
                place = state.heap.insert(timer, at: time)
            }
            return (place, state.takeAlarm())
        }
        if let change {
            alarm.set(to: change, ringing: self)
        }
        return handle
    }

    func remove(_ handle: TimerHeap<WeakTimer>.Handle) {
        // The timer is freed outside of the lock: that may run code of the user.
        let (timer, change) = state.withLock { state in
            (state.heap.remove(handle), state.takeAlarm())
        }
        if let change {
            alarm.set(to: change, ringing: self)
        }
        withExtendedLifetime(timer) {}
    }

    /// Called by the alarm, which has rung and is used up: rings each timer that is due by now.
    func ring() {
        alarm.hasRung()
        let now = MonotonicTime.now
        state.withLock { state in
            state.alarmTime = nil
            state.lastPass = now
            state.passes += 1
        }
        while let (timer, change) = takeDue(at: now) {
            // Set before the callout, since the callout may run the loop and wait for the others.
            if let change {
                alarm.set(to: change, ringing: self)
            }
            timer.ring(in: self)
        }
        let change = state.withLock { state in
            state.passes -= 1
            return state.takeAlarm()
        }
        if let change {
            alarm.set(to: change, ringing: self)
        }
    }

    private func takeDue(at now: MonotonicTime) -> (WeakTimer, MonotonicTime??)? {
        state.withLock { state in
            guard let time = state.heap.first?.time, time <= now,
                let timer = state.heap.popFirst()
            else { return nil }
            return (timer, state.takeAlarm())
        }
    }

    /// Ends every timer whose target has gone.
    func endTargetless() {
        for timer in state.withLock({ $0.heap.elements }) where !timer.hasTarget {
            timer.end()
        }
    }

    /// Ends every timer, takes no other, and sets no alarm any more.
    func close() {
        let timers = state.withLock { state in
            state.isClosed = true
            return state.heap.elements
        }
        for timer in timers {
            timer.end()
        }
        alarm.set(to: nil, ringing: self)
    }
}

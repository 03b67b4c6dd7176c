// SPDX-License-Identifier: Apache-2.0

public import Foundation
import Locks

/// A timer on a thread or queue that holds its target weakly and is freed.
///
/// ```swift
/// let thread = RunLoopThread(name: "timers")
/// let timer = WeakTimer(fireDate: .now + 5, interval: 5, repeats: true, target: cache) {
///     cache, timer in
///     cache.purge()
/// }
/// thread.add(timer)
/// // cache gone: the timer invalidates itself, at the latest when it is due next.
/// ```
///
/// **Where.** A timer calls out where it is added: on a ``RunLoopThread``, or on a queue by a
/// ``TimerQueue``. Those that `scheduledTimer` makes without saying where belong to the main actor.
/// Below, "thread" means the queue too.
///
/// **Clock.** Fire dates are wall dates. A date is turned into a distance from now when the timer
/// is added or its date is set; from then on CLOCK_MONOTONIC counts. A step of the wall clock
/// moves no timer, and time asleep does not count: whoever wants the wall date kept sets
/// ``fireDate`` again after a step. A timer is never early. Dates are good to about a microsecond,
/// up to a century ahead; a date that is not a number never comes.
///
/// **Rhythm.** A repeating timer fires on the grid of its first fire date, however late a callout
/// comes or however long it takes. Of several dates that have passed only the latest is called
/// out for; ``missed`` counts the others.
///
/// **Threads.** Every member may be used from any thread. What changes the run loop happens on the
/// timer's thread: at once for a caller on it, soon for any other. Callouts come on that thread
/// only, never two at a time.
///
/// **Life.** An added timer is kept by its thread until it is invalid; one not yet added is kept
/// by whoever holds it. An invalid timer lets go of its target, its action, all that the action
/// held, and its ``userInfo``.
///
/// **Cost.** The timers of a thread are in a heap: adding, moving, firing and invalidating one
/// among n costs O(log n).
public final class WeakTimer: Sendable {
    /// The distance between fire dates in seconds; 0 for a timer that does not repeat.
    ///
    /// At least 0.1 ms, which zero and negative ones become; at most a century, as does NaN.
    public let interval: TimeInterval

    /// Whether the timer fires again and again; else it is invalid after its first callout.
    public let repeats: Bool

    let state: Locked<WeakTimerState>

    /// A timer that calls `action` with its target, as long as there is one.
    ///
    /// - Parameters:
    ///   - fireDate: The first date. In the past, it is due at once, and keeps its grid.
    ///   - interval: In seconds; without meaning for a timer that does not repeat.
    ///   - repeats: Whether it fires again and again.
    ///   - tolerance: See ``tolerance``.
    ///   - userInfo: See ``userInfo``.
    ///   - target: Held weakly.
    ///   - action: Called on the timer's thread. Holds strongly what it captures.
    public convenience init<Target: AnyObject & Sendable>(
        fireDate: Date,
        interval: TimeInterval = 0,
        repeats: Bool = false,
        tolerance: TimeInterval = 0,
        userInfo: (any Sendable)? = nil,
        target: Target,
        action: sending @escaping (Target, WeakTimer) -> Void
    ) {
        let callout = Callout { [weak target] timer in
            guard let target else { return false }
            action(target, timer)
            return true
        } hasTarget: { [weak target] in
            target != nil
        }
        self.init(fireDate, interval, repeats, tolerance, userInfo, callout)
    }

    /// A timer that calls `block`, until it is invalidated.
    ///
    /// - Parameters:
    ///   - fireDate: The first date. In the past, it is due at once, and keeps its grid.
    ///   - interval: In seconds; without meaning for a timer that does not repeat.
    ///   - repeats: Whether it fires again and again.
    ///   - tolerance: See ``tolerance``.
    ///   - userInfo: See ``userInfo``.
    ///   - block: Called on the timer's thread. Holds strongly what it captures, Sendable or not:
    ///     what is not belongs to the timer alone from here on.
    public convenience init(
        fireDate: Date,
        interval: TimeInterval = 0,
        repeats: Bool = false,
        tolerance: TimeInterval = 0,
        userInfo: (any Sendable)? = nil,
        block: sending @escaping (WeakTimer) -> Void
    ) {
        let callout = Callout { timer in
            block(timer)
            return true
        } hasTarget: {
            true
        }
        self.init(fireDate, interval, repeats, tolerance, userInfo, callout)
    }

    init(
        _ fireDate: Date,
        _ interval: TimeInterval,
        _ repeats: Bool,
        _ tolerance: TimeInterval,
        _ userInfo: (any Sendable)?,
        _ callout: Callout
    ) {
        let state = WeakTimerState(
            fireDate: fireDate,
            interval: repeats ? Int64(nanosecondsIn: interval) : nil,
            tolerance: Int64(nanosecondsIn: tolerance),
            userInfo: userInfo,
            callout: callout
        )
        self.interval = Double(state.rhythm.interval ?? 0) / 1e9
        self.repeats = repeats
        self.state = Locked(state)
    }

    /// Whatever the creator attached; nil in an invalid timer.
    ///
    /// An invalid timer lets go of it, so a userInfo may hold the object that holds the timer. The callout
    /// that is running when the timer is invalidated still finds it.
    public var userInfo: (any Sendable)? {
        state.withLock { $0.userInfo }
    }

    /// The date at which the timer fires next; in a callout, the date that it is called for.
    ///
    /// Setting it moves the whole grid of a repeating timer. A date that is set inside the timer's own
    /// callout comes next, whether it is earlier or later than the date that would have come, and a timer
    /// that does not repeat then fires once more. Setting it on an invalid timer does nothing.
    public var fireDate: Date {
        get { state.withLock { $0.fireDate } }
        set {
            state.withLock { $0.move(to: newValue) }
            arm()
        }
    }

    /// How late the timer may fire, in seconds, to share a wake-up with others; 0 at first.
    ///
    /// CFRunLoop on Linux has no tolerance, so the timer itself picks the roundest instant of the
    /// time it is given: others with tolerance pick the same. A repeating timer uses at most half
    /// its interval. Negative ones count as 0.
    public var tolerance: TimeInterval {
        get { Double(state.withLock { $0.tolerance }) / 1e9 }
        set {
            state.withLock { $0.tolerance = Int64(nanosecondsIn: newValue) }
            arm()
        }
    }

    /// How many dates of a repeating timer passed without a callout just before the current or
    /// last one; 0 as long as the thread keeps up.
    public var missed: Int {
        state.withLock { $0.rhythm.missed }
    }

    /// False from the moment at which ``invalidate()`` is called, a timer that does not repeat has
    /// fired, the target is found gone, or the thread has stopped.
    public var isValid: Bool {
        state.withLock { $0.isValid }
    }

    /// Calls out now: at once on the timer's thread, soon from any other.
    ///
    /// A repeating timer keeps its rhythm; one that does not repeat is done, as after its date.
    /// A timer not yet added calls out on the thread of the caller. An invalid one does nothing,
    /// nor does a timer that is calling out already: no callout runs inside another of the same
    /// timer.
    public func fire() {
        if let loop = state.withLock({ $0.loop }), !loop.isCurrent {
            loop.perform { self.callOut(isDue: false) }
        } else {
            callOut(isDue: false)
        }
    }

    /// Ends the timer for good, from any thread, without waiting for any; idempotent.
    ///
    /// When it has returned, ``isValid`` is false and no callout begins any more. On the timer's
    /// own thread that is all there is to know. From another thread, a callout that has begun
    /// already may still be running, or be about to take its first step: work that is given to
    /// ``RunLoopThread/perform(_:)`` afterwards comes after it.
    ///
    /// Target, action and userInfo are let go of: on the timer's thread, at the end of the callout
    /// if one is running; at once and here, if the timer was never added.
    public func invalidate() {
        if isValid {
            end()
        }
    }
}

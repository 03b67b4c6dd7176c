// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Timers that belong to the main actor: targets and blocks may be isolated to it, and need not be
/// Sendable.
extension WeakTimer {
    /// Adds a timer to ``TimerQueue/main`` that calls `block` on the main actor, first in
    /// `interval` seconds.
    ///
    /// - Returns: The timer, which need not be held.
    @MainActor @discardableResult public static func scheduledTimer(
        withTimeInterval interval: TimeInterval,
        repeats: Bool,
        block: @escaping @MainActor (WeakTimer) -> Void
    ) -> WeakTimer {
        scheduledTimer(withTimeInterval: interval, repeats: repeats, on: TimerQueue.main) { timer in
            MainActor.assumeIsolated { block(timer) }
        }
    }

    /// Adds a timer to ``TimerQueue/main`` that calls `action` on the main actor with `target`,
    /// held weakly, first in `interval` seconds.
    ///
    /// - Returns: The timer, which need not be held.
    @MainActor @discardableResult public static func scheduledTimer<Target: AnyObject>(
        timeInterval interval: TimeInterval,
        target: Target,
        userInfo: (any Sendable)? = nil,
        repeats: Bool,
        action: @escaping @MainActor (Target, WeakTimer) -> Void
    ) -> WeakTimer {
        let timer = WeakTimer(
            fireDate: .now + interval,
            interval: interval,
            repeats: repeats,
            userInfo: userInfo,
            target: target,
            isolation: MainActor.shared,
            action: action
        )
        TimerQueue.main.add(timer)
        return timer
    }
}

extension WeakTimer {
    /// A timer of an actor that calls `action` with its target, as long as there is one: neither
    /// needs to be Sendable, and `action` may use the actor's state.
    ///
    /// - Parameters:
    ///   - fireDate: The first date. In the past, it is due at once, and keeps its grid.
    ///   - interval: In seconds; without meaning for a timer that does not repeat.
    ///   - repeats: Whether it fires again and again.
    ///   - tolerance: See ``tolerance``.
    ///   - userInfo: See ``userInfo``.
    ///   - target: Held weakly.
    ///   - isolation: The actor that the caller is on, to which target and action belong; held
    ///     weakly too.
    ///   - action: Called on the actor. Holds strongly what it captures.
    /// - Precondition: The timer is added to the thread or queue that the actor has as its executor;
    ///   each callout makes sure of it.
    public convenience init<Target: AnyObject>(
        fireDate: Date,
        interval: TimeInterval = 0,
        repeats: Bool = false,
        tolerance: TimeInterval = 0,
        userInfo: (any Sendable)? = nil,
        target: Target,
        isolation: isolated any Actor,
        action: @escaping (Target, WeakTimer) -> Void
    ) {
        // The caller is on the actor, so these belong to it. The callout uses them once it has made sure that it is on
        // the actor. Elsewhere it is only asked whether the target is still there, which any thread may ask of a weak
        // reference; and what the action captured is released there, if its timer is.
        nonisolated(unsafe) weak let held = target
        nonisolated(unsafe) let onActor = action
        let callout = Callout { [weak isolation] timer in
            guard let isolation else { return false }
            isolation.preconditionIsolated("the timer was added where its actor does not run")
            guard let held else { return false }
            onActor(held, timer)
            return true
        } hasTarget: { [weak isolation] in
            // Looks only whether they still exist.
            isolation != nil && held != nil
        }
        self.init(fireDate, interval, repeats, tolerance, userInfo, callout)
    }
}

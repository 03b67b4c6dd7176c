// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Timers by the names of Foundation's `Timer`. A distance counts from now.
extension WeakTimer {
    /// A timer that calls `block` first at `date`, once it is added somewhere.
    public convenience init(
        fire date: Date,
        interval: TimeInterval,
        repeats: Bool,
        block: sending @escaping (WeakTimer) -> Void
    ) {
        self.init(fireDate: date, interval: interval, repeats: repeats, block: block)
    }

    /// A timer that calls `block` first in `interval` seconds, once it is added somewhere.
    public convenience init(
        timeInterval interval: TimeInterval,
        repeats: Bool,
        block: sending @escaping (WeakTimer) -> Void
    ) {
        self.init(fireDate: .now + interval, interval: interval, repeats: repeats, block: block)
    }

    /// A timer that calls `action` with `target`, held weakly, first in `interval` seconds, once it
    /// is added somewhere.
    public convenience init<Target: AnyObject & Sendable>(
        timeInterval interval: TimeInterval,
        target: Target,
        userInfo: (any Sendable)? = nil,
        repeats: Bool,
        action: sending @escaping (Target, WeakTimer) -> Void
    ) {
        self.init(
            fireDate: .now + interval,
            interval: interval,
            repeats: repeats,
            userInfo: userInfo,
            target: target,
            action: action
        )
    }

    // MARK: On a thread or a queue

    /// Adds a timer to `host` that calls `block` there, first in `interval` seconds.
    ///
    /// - Parameters:
    ///   - interval: In seconds.
    ///   - repeats: Whether it fires again and again.
    ///   - host: A ``RunLoopThread``, in its default mode, or a ``TimerQueue``.
    ///   - block: Called on `host`. Holds strongly what it captures.
    /// - Returns: The timer, which need not be held.
    @discardableResult public static func scheduledTimer(
        withTimeInterval interval: TimeInterval,
        repeats: Bool,
        on host: some TimerHost,
        block: sending @escaping (WeakTimer) -> Void
    ) -> WeakTimer {
        let timer = WeakTimer(timeInterval: interval, repeats: repeats, block: block)
        host.add(timer)
        return timer
    }

    /// Adds a timer to `host` that calls `action` there with `target`, held weakly, first in
    /// `interval` seconds.
    ///
    /// - Parameters:
    ///   - interval: In seconds.
    ///   - target: Held weakly.
    ///   - userInfo: See ``userInfo``.
    ///   - repeats: Whether it fires again and again.
    ///   - host: A ``RunLoopThread``, in its default mode, or a ``TimerQueue``.
    ///   - action: Called on `host`. Holds strongly what it captures.
    /// - Returns: The timer, which need not be held.
    @discardableResult public static func scheduledTimer<Target: AnyObject & Sendable>(
        timeInterval interval: TimeInterval,
        target: Target,
        userInfo: (any Sendable)? = nil,
        repeats: Bool,
        on host: some TimerHost,
        action: sending @escaping (Target, WeakTimer) -> Void
    ) -> WeakTimer {
        let timer = WeakTimer(
            timeInterval: interval,
            target: target,
            userInfo: userInfo,
            repeats: repeats,
            action: action
        )
        host.add(timer)
        return timer
    }
}

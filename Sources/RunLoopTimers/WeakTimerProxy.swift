// SPDX-License-Identifier: Apache-2.0

@preconcurrency import CoreFoundation

/// What the run loop retains in the place of a timer's target.
///
/// The run loop's timer retains the proxy and releases it again when it is invalidated, which
/// Foundation's `Timer` on Linux forgets. The proxy holds both its timer and the target weakly, so
/// no reference runs in a circle: a `ThreadLoop` keeps its timers, a timer keeps its proxy.
final class WeakTimerProxy: Sendable {
    private weak let timer: WeakTimer?
    private let callout: @Sendable (WeakTimer) -> Bool

    /// - Parameters:
    ///   - timer: Held weakly.
    ///   - callout: Holds its target weakly, and returns false when that is gone.
    init(timer: WeakTimer, callout: @escaping @Sendable (WeakTimer) -> Bool) {
        self.timer = timer
        self.callout = callout
    }

    /// Calls out for `timer`; false if the target is gone and nothing was called.
    func callOut(_ timer: WeakTimer) -> Bool {
        callout(timer)
    }

    /// A run loop timer that rings once, at the wall date `date`, and is used up by it.
    ///
    /// Not one that repeats: CFRunLoop would skip missed dates in a loop, one by one, and what it
    /// does with a date set inside the callout depends on the date before and on the mode.
    func makeAlarm(at date: CFAbsoluteTime) -> CFRunLoopTimer {
        var context = CFRunLoopTimerContext()
        context.info = Unmanaged.passUnretained(self).toOpaque()
        context.retain = { info in
            // The info above, or what this very function returned: a proxy, never null.
            guard let info else { return nil }
            return UnsafeRawPointer(Unmanaged<WeakTimerProxy>.fromOpaque(info).retain().toOpaque())
        }
        context.release = { info in
            guard let info else { return }
            Unmanaged<WeakTimerProxy>.fromOpaque(info).release()
        }
        return CFRunLoopTimerCreate(
            nil,
            date,
            0,
            0,
            0,
            { _, info in
                guard let info else { return }
                Unmanaged<WeakTimerProxy>.fromOpaque(info).takeUnretainedValue().timer?.ring()
            },
            &context
        )
    }
}

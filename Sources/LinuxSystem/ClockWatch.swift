// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
package import Schedules
import SystemPackage

/// Tells when a date of the wall clock has come, and when the wall clock was stepped.
///
/// By one timer on CLOCK_REALTIME: the kernel wakes the daemon for the date, for a step of the clock,
/// and after suspend; for nothing else.
package final class ClockWatch: Sendable {
    package enum Signal: Sendable {
        case dateHasCome
        case clockWasStepped
    }

    private let loop: EpollLoop
    private let timer: TimerDescriptor
    private let notify: @Sendable (Signal) -> Void
    /// Nil once it has ended: the descriptor's number may be another's then.
    private let watch: Locked<EpollLoop.Watch?>

    /// Watches the clock from now on; `notify` is called on the loop's thread.
    ///
    /// - Throws: `SystemError` where the kernel gives no timer.
    package init(
        on loop: EpollLoop,
        notify: @escaping @Sendable (Signal) -> Void
    ) throws(SystemError) {
        self.loop = loop
        self.notify = notify
        do throws(Errno) {
            let timer = try TimerDescriptor(CLOCK_REALTIME)
            self.timer = timer
            do throws(Errno) {
                watch = Locked(
                    try loop.watch(timer.descriptor) {
                        if let signal = timer.read() { notify(signal) }
                    }
                )
            } catch {
                timer.descriptor.closeForGood()
                throw error
            }
        } catch {
            throw SystemError("cannot create a timer for the clock", error)
        }
        set(nil)
    }

    deinit { stop() }

    /// Sets the date to wake at, instead of the one before; nil for none.
    ///
    /// A date that has passed comes at once.
    package func set(_ date: Timestamp?) {
        // The watch for steps needs a date: one that no machine will see.
        let wasStepped = watch.withLock {
            $0 == nil ? false : timer.set(at: date ?? .distantFuture)
        }
        if wasStepped { loop.perform { [notify] in notify(.clockWasStepped) } }
    }

    /// Ends the watch.
    package func stop() {
        if let watch = watch.withLock({ $0.take() }) { loop.end(watch) }
    }
}

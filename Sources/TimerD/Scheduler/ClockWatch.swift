// SPDX-License-Identifier: Apache-2.0

import CLinux
// A source is safe to use from any thread; its protocol does not say so.
@preconcurrency import Dispatch
import Glibc
import Schedules

/// Tells when a date of the wall clock has come, and when the wall clock was stepped.
///
/// One timerfd on CLOCK_REALTIME with TFD_TIMER_CANCEL_ON_SET, timerfd_create(2): the kernel wakes
/// the daemon for the date, for a step of the clock, and after suspend; for nothing else.
final class ClockWatch: Sendable {
    enum Signal: Sendable {
        case dateHasCome
        case clockWasStepped
    }

    private let descriptor: Int32
    private let source: any DispatchSourceRead

    /// Watches the clock from now on; `notify` is called on a queue of its own.
    ///
    /// - Throws: `SystemError` where the kernel gives no timer.
    init(notify: @escaping @Sendable (Signal) -> Void) throws(SystemError) {
        let descriptor = timerfd_create(CLOCK_REALTIME, Int32(TFD_CLOEXEC) | Int32(TFD_NONBLOCK))
        guard descriptor >= 0 else { throw SystemError("cannot create a timer for the clock") }
        self.descriptor = descriptor
        let queue = DispatchQueue(label: "timerd.clock")
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler {
            var expirations: UInt64 = 0
            let count = read(descriptor, &expirations, MemoryLayout.size(ofValue: expirations))
            if count > 0 {
                notify(.dateHasCome)
            } else if errno == ECANCELED {
                notify(.clockWasStepped)
            }
        }
        source.setCancelHandler { close(descriptor) }
        source.resume()
        set(nil)
    }

    deinit { source.cancel() }

    /// Sets the date to wake at in place of the one before; nil for none.
    ///
    /// For a date that has passed, the wake-up comes at once.
    func set(_ date: Timestamp?) {
        // The kernel reports steps only while a date is set; `distantFuture` serves if there is none.
        let date = max(date ?? .distantFuture, Timestamp(microseconds: 1))
        let (seconds, rest) = date.microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        var time = itimerspec()
        time.it_value = timespec(tv_sec: Int(seconds), tv_nsec: Int(rest) * 1000)
        let flags = Int32(TFD_TIMER_ABSTIME) | (1 << 1)
        // Fails only for a bad descriptor or time, and with ECANCELED after a step, which the next read
        // reports too.
        timerfd_settime(descriptor, flags, &time, nil)
    }

    /// Ends the watch.
    func stop() { source.cancel() }
}

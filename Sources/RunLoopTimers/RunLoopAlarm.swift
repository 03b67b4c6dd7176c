// SPDX-License-Identifier: Apache-2.0

@preconcurrency import CoreFoundation
import Foundation
import Locks

/// A timer of the current run loop, in one mode: made when it is set, used up when it rings.
///
/// It does not repeat: a run loop does not fire a timer inside that timer's own callout, and a callout that
/// runs the loop must let other timers ring.
final class RunLoopAlarm: Alarm {
    private let mode: RunLoop.Mode
    private let timer = Locked<CFRunLoopTimer?>(nil)

    init(mode: RunLoop.Mode) {
        self.mode = mode
    }

    func hasRung() {
        timer.withLock { $0 = nil }
    }

    func set(to time: MonotonicTime?, ringing timers: ModeTimers) {
        let armed = timer.withLock { $0 }
        guard let time else {
            if let armed {
                CFRunLoopTimerInvalidate(armed)
            }
            timer.withLock { $0 = nil }
            return
        }
        // Half a microsecond makes up for what the two clocks and CFAbsoluteTime round away: an
        // alarm that is early by that has to be set twice.
        let date = time.date.timeIntervalSinceReferenceDate + 0.5e-6
        if let armed {
            CFRunLoopTimerSetNextFireDate(armed, date)
        } else {
            let made = makeTimer(at: date, ringing: timers)
            CFRunLoopAddTimer(CFRunLoopGetCurrent(), made, mode.name)
            timer.withLock { $0 = made }
        }
    }

    private func makeTimer(at date: CFAbsoluteTime, ringing timers: ModeTimers) -> CFRunLoopTimer {
        var context = CFRunLoopTimerContext()
        // Unretained: the loop's thread keeps the timers until it has closed them, and from then on
        // the run loop has no such timer.
        context.info = Unmanaged.passUnretained(timers).toOpaque()
        return CFRunLoopTimerCreate(
            nil,
            date,
            0,
            0,
            0,
            { _, info in
                // The info of the context above, which is not null.
                guard let info else { return }
                Unmanaged<ModeTimers>.fromOpaque(info).takeUnretainedValue().ring()
            },
            &context
        )
    }
}

extension RunLoop.Mode {
    /// The mode as CoreFoundation knows it, which tells the common modes by address.
    fileprivate var name: CFRunLoopMode? {
        switch self {
        case .default: kCFRunLoopDefaultMode
        case .common: kCFRunLoopCommonModes
        default: CFStringCreateWithCString(nil, rawValue, CFStringBuiltInEncodings.UTF8.rawValue)
        }
    }
}

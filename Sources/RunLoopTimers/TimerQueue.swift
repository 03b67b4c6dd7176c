// SPDX-License-Identifier: Apache-2.0

public import Dispatch
import Foundation
import Locks

/// A queue of Dispatch that carries ``WeakTimer``s: they call out there, one after another.
///
/// ```swift
/// let queue = DispatchQueue(label: "refresh")
/// let timers = TimerQueue(queue)
/// timers.add(timer)
/// ```
///
/// The callouts of one `TimerQueue` never run two at a time, on a concurrent queue neither. On a
/// serial queue they run between the queue's own work. Nobody has to hold the `TimerQueue`: its
/// timers keep it until they are invalid.
public final class TimerQueue: TimerHost {
    /// The main queue, which belongs to the main actor.
    ///
    /// It is served by `RunLoop.main` in its common modes, by `dispatchMain()`, and while an
    /// asynchronous `main` runs. The main run loop itself is not: on Linux an asynchronous `main`
    /// never runs it, and a `Timer` added to it then never fires.
    public static let main = TimerQueue(
        QueueLoop(queue: .main)
    )

    let loop: QueueLoop

    /// Timers that call out on `queue`.
    ///
    /// - Parameter queue: Serial, concurrent or global.
    public convenience init(_ queue: DispatchQueue) {
        let serial = DispatchQueue(label: queue.label + ".timers", target: queue)
        self.init(QueueLoop(queue: serial))
    }

    private init(_ loop: QueueLoop) {
        self.loop = loop
    }

    public func add(_ timer: WeakTimer) {
        timer.schedule(on: loop, modes: [.default])
    }
}

/// The timers of a serial queue, behind one source of Dispatch.
final class QueueLoop: TimerLoop {
    private let queue: DispatchQueue
    private let key = DispatchSpecificKey<Bool>()
    private let timers: ModeTimers

    /// - Parameter queue: Serial.
    init(queue: DispatchQueue) {
        self.queue = queue
        timers = ModeTimers(alarm: QueueAlarm(queue: queue))
        queue.setSpecific(key: key, value: true)
    }

    var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

    func perform(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }

    /// A queue has no modes.
    func timers(in mode: RunLoop.Mode) -> ModeTimers? { timers }

    /// A queue does not end.
    func countValid(_ change: Int) {}
}

/// A source of Dispatch, made when it is first needed.
private final class QueueAlarm: Alarm {
    private let queue: DispatchQueue
    private let source = Locked<(any DispatchSourceTimer)?>(nil)

    init(queue: DispatchQueue) {
        self.queue = queue
    }

    deinit {
        source.withLock { $0?.cancel() }
    }

    func hasRung() {}

    func set(to time: MonotonicTime?, ringing timers: ModeTimers) {
        // Dispatch counts on CLOCK_MONOTONIC too, from 1: a 0 is "now".
        let deadline = time.map { DispatchTime(uptimeNanoseconds: UInt64(max(1, $0.nanoseconds))) }
        source.withLock { source in
            if let source {
                source.schedule(deadline: deadline ?? .distantFuture, leeway: .nanoseconds(0))
            } else if let deadline {
                let made = DispatchSource.makeTimerSource(queue: queue)
                made.setEventHandler { [weak timers] in timers?.ring() }
                made.schedule(deadline: deadline, leeway: .nanoseconds(0))
                made.activate()
                source = made
            }
        }
    }
}

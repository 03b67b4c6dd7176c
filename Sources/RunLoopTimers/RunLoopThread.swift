// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// A thread with a run loop: it carries ``WeakTimer``s, and is an executor for actors.
///
/// An actor that lives on the thread enters itself from a timer's callout without a hop, and the
/// compiler sees to it that nothing else touches the actor's state:
///
/// ```swift
/// actor Heartbeat {
///     private let thread = RunLoopThread(name: "heartbeat")
///     nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
///     private var beats = 0
///
///     func start() {
///         let timer = WeakTimer(fireDate: .now + 1, interval: 1, repeats: true, target: self) {
///             heart, timer in
///             heart.assumeIsolated { $0.beats += 1 }
///         }
///         thread.add(timer)
///     }
/// }
/// ```
///
/// Work given to ``perform(_:)`` and jobs of actors share one queue and run in the order in which
/// they came, whatever their priority. In each pass of its loop the thread runs what was in the
/// queue when the pass began, and then the timers that are due, so neither starves the other.
/// With nothing to do the thread sleeps and nothing wakes it.
///
/// The run loop runs in its default mode. Whoever runs it in another mode, inside work or inside a
/// callout, gets the timers of that mode; the queue waits until the work that does so has ended.
///
/// The thread lives until ``stop()``. When the last reference to this object is gone, it lives on
/// until the last of its timers is invalid: a timer that nobody holds, on a thread that nobody
/// holds, fires all the same, as with a run loop. Timers whose target is gone by then do not keep
/// it.
public final class RunLoopThread: SerialExecutor, TimerHost {
    /// What the thread itself keeps alive.
    let loop: ThreadLoop

    /// Starts the thread and returns at once; work and timers that come before the loop runs wait for it.
    ///
    /// - Parameters:
    ///   - name: What `ps -L` and `top -H` show; Linux keeps the first 15 bytes.
    ///   - goesFirst: Whether it has real-time priority, the lowest, if the process may ask for that. Its timers are
    ///     on time then also on a busy machine; its work and its callouts are to be short, for ordinary threads
    ///     wait for them.
    public init(name: String, goesFirst: Bool = false) {
        loop = ThreadLoop(name: name, goesFirst: goesFirst)
    }

    deinit {
        loop.abandon()
    }

    /// Whether the caller is on the thread.
    public var isCurrent: Bool {
        loop.isCurrent
    }

    /// Runs `work` on the thread, soon, and returns at once; also when called on the thread.
    ///
    /// Wakes the loop, which `RunLoop.perform` alone does not do on Linux.
    ///
    /// - Returns: false after ``stop()``; `work` is not run then.
    @discardableResult public func perform(_ work: @escaping @Sendable () -> Void) -> Bool {
        loop.enqueue(.perform(work), isOptional: true)
    }

    /// Schedules `timer` on the thread in the default mode; see ``add(_:forModes:)``.
    public func add(_ timer: WeakTimer) {
        timer.schedule(on: loop, modes: [.default])
    }

    /// Schedules `timer` on the thread in `mode`; see ``add(_:forModes:)``.
    public func add(_ timer: WeakTimer, forMode mode: RunLoop.Mode) {
        timer.schedule(on: loop, modes: [mode])
    }

    /// Schedules `timer` on the thread, from any thread; it calls out there and nowhere else.
    ///
    /// The timer is kept until it is invalid. Its fire date counts from the wall clock of this
    /// moment. A timer that has been added already is added for further modes of the same loop;
    /// one that is invalid stays so. A stopped thread invalidates what it is given.
    ///
    /// - Parameters:
    ///   - timer: Not yet added to another thread or queue.
    ///   - modes: The modes of the run loop in which the timer fires.
    /// - Precondition: The timer has not been added elsewhere.
    public func add(_ timer: WeakTimer, forModes modes: [RunLoop.Mode]) {
        timer.schedule(on: loop, modes: modes)
    }

    /// Ends the loop and the thread, from any thread, and returns at once; idempotent.
    ///
    /// What was enqueued before still runs. Then every timer of the thread is invalidated, and the
    /// thread ends. Work given to ``perform(_:)`` afterwards is refused, so work that feeds itself
    /// ends too. Jobs of actors on this executor are never lost: those that come afterwards run in
    /// order, one at a time, on a thread made for them, without a run loop.
    public func stop() {
        loop.stop()
    }

    /// Returns when the thread has ended, after ``stop()``: no timer is valid any more, and what
    /// was enqueued before has run.
    public func waitUntilStopped() async {
        await loop.waitUntilStopped()
    }

    // MARK: SerialExecutor

    public func enqueue(_ job: consuming ExecutorJob) {
        loop.enqueue(.run(UnownedJob(job), on: self))
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    public func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    public func checkIsolated() {
        // The promise that `assumeIsolated` rests on: a caller elsewhere would race with the actor.
        precondition(isCurrent, "not on the run loop thread that the actor lives on")
    }
}

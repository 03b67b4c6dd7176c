// SPDX-License-Identifier: Apache-2.0

@preconcurrency import CoreFoundation
import Foundation
import Glibc
import Locks
import Platform
import Synchronization
import SystemPackage

/// The loop behind a `RunLoopThread`: its queue of work, its timers, its life.
///
/// Its thread keeps it alive. The `RunLoopThread` that the user holds is a separate object, whose `deinit`
/// tells the loop that nobody holds the thread any more.
final class ThreadLoop: TimerLoop {
    /// One thing to do on the thread.
    enum Work: Sendable {
        case perform(@Sendable () -> Void)
        /// The thread's handle comes along, so that it outlives the job that runs on it.
        case run(UnownedJob, on: RunLoopThread)
    }

    /// The timers by mode, and what decides whether the loop may end.
    private struct Timers {
        /// nil once the loop has ended.
        var modes: [RunLoop.Mode: ModeTimers]? = [:]
        var validCount = 0
        /// Nobody holds the thread: it ends with its last timer.
        var isAbandoned = false

        var isUseless: Bool { isAbandoned && validCount == 0 }
    }

    private enum Phase {
        /// There is no run loop yet; the thread looks at the queue when it has made it.
        case starting
        case running(CFRunLoop, CFRunLoopSource)
        /// The run loop is gone; work that still comes gets a thread of its own.
        case ended
    }

    private struct State {
        var phase = Phase.starting
        var queue: [Work] = []
        /// What of the queue was taken up and has still to run, the next at the end.
        var rest: [Work] = []
        /// Whether the queue will be looked at without another wake-up.
        var isAttended = true
        var isStopRequested = false
        var isStopping = false
        var waiters: [CheckedContinuation<Void, Never>] = []

        var source: CFRunLoopSource? {
            guard case .running(_, let source) = phase else { return nil }
            return source
        }

        var isIdle: Bool { queue.isEmpty && rest.isEmpty }

        /// Takes all that waits, the next at the end.
        mutating func takeAll() -> [Work] {
            defer { (queue, rest) = ([], []) }
            return Array(queue.reversed()) + rest
        }

        /// Takes what is next, at most so many, the next at the end.
        mutating func take(_ count: Int) -> [Work] {
            if rest.isEmpty {
                swap(&rest, &queue)
                // Reversed once, so that each piece costs the same however long the queue is.
                rest.reverse()
            }
            defer { rest.removeLast(min(count, rest.count)) }
            return Array(rest.suffix(count))
        }
    }

    /// What the caller of `enqueue` has to do so that the queue is looked at.
    private enum Summons {
        case none
        case refusal
        case wake(CFRunLoop, CFRunLoopSource)
        case startThread
    }

    /// How many pieces of work run before the timers have a look in again.
    private static let atOnce = 64

    private let name: String
    private let goesFirst: Bool
    private let state = Locked(State())
    private let timers = Locked(Timers())
    /// The thread that works for this loop at the moment, or 0.
    private let owner = Atomic<pthread_t>(0)

    init(name: String, goesFirst: Bool = false) {
        self.name = name
        self.goesFirst = goesFirst
        startThread { self.main() }
    }

    /// Relaxed is enough: a thread finds its own id here only if it wrote it itself.
    var isCurrent: Bool {
        owner.load(ordering: .relaxed) == pthread_self()
    }

    /// Appends `work` to the queue, and sees to it that it is run.
    ///
    /// The run loop is woken only by the first work since it last looked, and never while it is
    /// at work on the queue: then it looks again by itself.
    ///
    /// `isOptional`: refused once a stop has been asked for.
    ///
    /// - Returns: false if it was refused.
    @discardableResult func enqueue(_ work: Work, isOptional: Bool = false) -> Bool {
        let summons = state.withLock { state -> Summons in
            if isOptional, state.isStopRequested { return .refusal }
            state.queue.append(work)
            guard !state.isAttended else { return .none }
            state.isAttended = true
            return switch state.phase {
            case .starting: .none
            case .running(let loop, let source): .wake(loop, source)
            case .ended: .startThread
            }
        }
        switch summons {
        case .none: break
        case .refusal: return false
        case .wake(let loop, let source):
            CFRunLoopSourceSignal(source)
            CFRunLoopWakeUp(loop)
        case .startThread:
            startThread { self.runRest() }
        }
        return true
    }

    func perform(_ work: @escaping @Sendable () -> Void) {
        enqueue(.perform(work))
    }

    // MARK: The life of the thread

    private func startThread(_ body: @escaping @Sendable () -> Void) {
        do throws(Errno) {
            try SystemThread.start(named: name, goesFirst: goesFirst, body)
        } catch {
            // Not an error to throw: without its thread a timer never fires, and nobody would know.
            preconditionFailure("cannot start the thread '\(name)': \(error.text)")
        }
    }

    private func main() {
        owner.store(pthread_self(), ordering: .relaxed)
        guard let loop = CFRunLoopGetCurrent(), let source = makeSource() else {
            // Both return nil only when there is no memory for a few hundred bytes.
            preconditionFailure("CoreFoundation has made no run loop for the thread '\(name)'")
        }
        // A source that stays also keeps the run loop from returning at once.
        CFRunLoopAddSource(loop, source, kCFRunLoopCommonModes)
        state.withLock { $0.phase = .running(loop, source) }
        CFRunLoopSourceSignal(source)  // for what was enqueued before there was a source
        while !state.withLock({ $0.isStopping }) {
            CFRunLoopRun()
        }
        let modes = timers.withLock { $0.modes.take() ?? [:] }
        for timers in modes.values {
            timers.close()
        }
        // The run loop has none of their alarms now.
        withExtendedLifetime(modes) { CFRunLoopSourceInvalidate(source) }
        end()
    }

    /// Runs what is in the queue now, and ends the thread.
    ///
    /// It does not wait for the queue to be empty, since an actor that keeps adding work never lets it be: a
    /// late thread runs the rest.
    private func end() {
        run(state.withLock { $0.takeAll() })
        let (waiters, hasRest) = state.withLock { state in
            defer { state.waiters = [] }
            state.phase = .ended
            state.isAttended = !state.isIdle
            // While the lock is held: after that a late thread may write its own id here.
            owner.store(0, ordering: .relaxed)
            return (state.waiters, state.isAttended)
        }
        if hasRest { startThread { self.runRest() } }
        for waiter in waiters { waiter.resume() }
    }

    /// Runs the queue until it is empty: all that a late thread does.
    private func runRest() {
        owner.store(pthread_self(), ordering: .relaxed)
        while let work = takeRest() {
            run(work)
        }
    }

    /// Takes what is in the queue; if there is nothing, returns nil and notes that nobody attends to the
    /// queue.
    private func takeRest() -> [Work]? {
        state.withLock { state in
            guard state.isIdle else { return state.takeAll() }
            state.isAttended = false
            owner.store(0, ordering: .relaxed)
            return nil
        }
    }

    /// Asks the loop to end once it has run what is in the queue; idempotent.
    func stop() {
        let isFirst = state.withLock { state in
            defer { state.isStopRequested = true }
            return !state.isStopRequested
        }
        if isFirst {
            perform { self.state.withLock { $0.isStopping = true } }
        }
    }

    /// Called when nobody holds the thread any more: the loop ends with its last valid timer.
    ///
    /// What is in the queue runs first. Timers whose target has gone with the thread, as those of an actor
    /// that holds its thread, are not waited for.
    ///
    /// - Returns: false once a stop has been asked for: the loop ends anyway, or has ended, and a thread is
    ///   not started for this alone.
    @discardableResult func abandon() -> Bool {
        let work = Work.perform {
            for timers in self.timers.withLock({ $0.modes ?? [:] }).values {
                timers.endTargetless()
            }
            let isUseless = self.timers.withLock { timers in
                timers.isAbandoned = true
                return timers.isUseless
            }
            if isUseless { self.stop() }
        }
        return enqueue(work, isOptional: true)
    }

    /// Returns when the loop has ended, at once if it has.
    func waitUntilStopped() async {
        await withCheckedContinuation { waiter in
            let hasEnded = state.withLock { state in
                if case .ended = state.phase { return true }
                state.waiters.append(waiter)
                return false
            }
            if hasEnded { waiter.resume() }
        }
    }

    // MARK: The queue

    private func makeSource() -> CFRunLoopSource? {
        var context = CFRunLoopSourceContext()
        // Unretained: `main` holds the loop until it has invalidated the source.
        context.info = Unmanaged.passUnretained(self).toOpaque()
        context.perform = { info in
            // The info of the context above, which is not null.
            guard let info else { return }
            Unmanaged<ThreadLoop>.fromOpaque(info).takeUnretainedValue().drain()
        }
        return CFRunLoopSourceCreate(nil, 0, &context)
    }

    /// Runs what is next in the queue; what is behind that or comes meanwhile waits for the next pass of the
    /// loop, after the timers that are due.
    private func drain() {
        run(state.withLock { $0.take(Self.atOnce) })
        let (isStopping, next) = state.withLock { state in
            // A stop ends one run of the loop. If a callout ran the loop inside another run, a second pass
            // ends that one too.
            state.isAttended = state.isStopping || !state.isIdle
            return (state.isStopping, state.isAttended ? state.source : nil)
        }
        if isStopping {
            CFRunLoopStop(CFRunLoopGetCurrent())
        }
        if let next {
            // No wake-up: a run loop that has served a source looks at its sources again before
            // it sleeps.
            CFRunLoopSourceSignal(next)
        }
    }

    private func run(_ work: consuming [Work]) {
        // Taken from the end, so that each piece is freed when it has run.
        while let next = work.popLast() {
            switch next {
            case .perform(let body): body()
            case .run(let job, let thread):
                job.runSynchronously(on: thread.asUnownedSerialExecutor())
            }
        }
    }

    // MARK: Timers

    func timers(in mode: RunLoop.Mode) -> ModeTimers? {
        timers.withLock { timers in
            if let known = timers.modes?[mode] { return known }
            guard timers.modes != nil else { return nil }
            let made = ModeTimers(alarm: RunLoopAlarm(mode: mode))
            timers.modes?[mode] = made
            return made
        }
    }

    func countValid(_ change: Int) {
        let isUseless = timers.withLock { timers in
            timers.validCount += change
            return timers.isUseless
        }
        if isUseless {
            stop()
        }
    }
}

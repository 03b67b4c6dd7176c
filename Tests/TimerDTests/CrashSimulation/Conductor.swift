// SPDX-License-Identifier: Apache-2.0

import Glibc
import Schedules
import TimerControl

@testable import TimerD

/// The threads of a simulated daemon, and the process that minds its runs, all carried out by one real thread
/// in an order that chance decides: so the same seed is the same order.
///
/// Unchecked, as are its lanes: that one real thread is the only one to touch them.
final class Conductor: @unchecked Sendable {
    /// What one thread of the daemon has to do.
    class Lane: @unchecked Sendable {
        fileprivate(set) unowned var conductor: Conductor
        /// The daemon's life that it is of; nil for one that goes on without the daemon.
        fileprivate let life: Int?

        init(_ conductor: Conductor, isMachines: Bool = false) {
            self.conductor = conductor
            life = isMachines ? nil : conductor.life
            conductor.lanes.append(self)
        }

        /// Whether there is something to do at once.
        var isRunnable: Bool { false }
        /// Does one piece of it.
        func step() {}
        /// Drops what it has to do.
        func clear() {}

        final func checkIsCurrent() {
            precondition(conductor.current === self, "not on the lane that the actor lives on")
        }
    }

    private let thread = pthread_self()
    private var lanes: [Lane] = []
    private var current: Lane?
    var dice: Dice
    /// The simulation's time, which only grows.
    var now: Timestamp
    /// The life of which lanes are that are made now.
    var life = 0
    /// A life that stands still.
    var paused: Int?

    init(dice: Dice, now: Timestamp) {
        self.dice = dice
        self.now = now
    }

    /// What comes from another thread comes in an order that no seed decides, and breaks the lanes.
    func checkThread() {
        precondition(pthread_equal(thread, pthread_self()) != 0, "not on the simulation's thread")
    }

    var isIdle: Bool {
        !lanes.contains { $0.isRunnable && ($0.life == nil || $0.life != paused) }
    }

    /// Lets one of the lanes that have something to do take a step; false if there is none.
    ///
    /// `alone`: a daemon's life beside which all else stands still.
    func step(alone life: Int? = nil) -> Bool {
        let runnable = lanes.filter { lane in
            if let life { return lane.isRunnable && lane.life == life }
            return lane.isRunnable && (lane.life == nil || lane.life != paused)
        }
        guard let lane = runnable.randomElement(using: &dice) else { return false }
        current = lane
        lane.step()
        current = nil
        return true
    }

    /// Ends the lanes of a daemon that is dead.
    func removeLanes(of life: Int) {
        for lane in lanes where lane.life == life { lane.clear() }
        lanes.removeAll { $0.life == life }
    }
}

/// The pool of threads on which everything runs that no other lane does.
final class PoolLane: Conductor.Lane, TaskExecutor, @unchecked Sendable {
    private var jobs: [UnownedJob] = []

    override var isRunnable: Bool { !jobs.isEmpty }

    func enqueue(_ job: consuming ExecutorJob) {
        conductor.checkThread()
        jobs.append(UnownedJob(job))
    }

    override func step() {
        // Threads of a pool overtake each other.
        let index =
            conductor.dice.isTrue(0.8) ? 0 : Int.random(in: jobs.indices, using: &conductor.dice)
        jobs.remove(at: index).runSynchronously(on: asUnownedTaskExecutor())
    }
}

/// The thread of a connection to the database.
final class StoreLane: Conductor.Lane, StoreLoop, @unchecked Sendable {
    private var items: [(deadline: Timestamp?, work: @Sendable () -> Void)] = []
    private var later: [(date: Timestamp, work: @Sendable () -> Void)] = []
    private var afterBatch: @Sendable () -> Void = {}

    /// When what waits has to run at the latest; nil if nothing does.
    var deadline: Timestamp? { (items.compactMap(\.deadline) + later.map(\.date)).min() }

    var queueLength: Int { items.count }

    override var isRunnable: Bool {
        later.contains { $0.date <= conductor.now }
            || items.contains { item in item.deadline.map { $0 <= conductor.now } ?? true }
    }

    /// A batch: all that is queued, or what had come by the time that it began.
    override func step() {
        items += later.filter { $0.date <= conductor.now }.map { (nil, $0.work) }
        later.removeAll { $0.date <= conductor.now }
        let all = items.count
        let count =
            conductor.dice.isTrue(0.6) ? all : Int.random(in: 1...all, using: &conductor.dice)
        let batch = items.prefix(count)
        items.removeFirst(count)
        for item in batch { item.work() }
        afterBatch()
    }

    override func clear() {
        (items, later) = ([], [])
        afterBatch = {}
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        perform { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { checkIsCurrent() }

    @discardableResult
    func perform(_ work: @escaping @Sendable () -> Void) -> Bool {
        conductor.checkThread()
        items.append((nil, work))
        return true
    }

    @discardableResult
    func performDeferred(within delay: Duration, _ work: @escaping @Sendable () -> Void) -> Bool {
        items.append((conductor.now + TimeSpan(delay), work))
        return true
    }

    func perform(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        conductor.checkThread()
        later.append((conductor.now + TimeSpan(delay), work))
    }

    func onBatchEnd(_ hook: @escaping @Sendable () -> Void) { afterBatch = hook }

    /// Called on a real thread, when the store has been closed; there is nothing to end.
    func stop() async {}
}

/// The thread of the timers.
///
/// They fire once so much time has passed as their date lay ahead when they were armed, wherever the
/// wall clock was put since.
final class TimerLane: Conductor.Lane, TimerLoop, @unchecked Sendable {
    final class Timer: ArmedTimer, @unchecked Sendable {
        /// By the simulation's time.
        let date: Timestamp
        let number: Int
        let fire: @Sendable () -> Void
        private weak var lane: TimerLane?

        init(
            _ date: Timestamp,
            _ number: Int,
            _ lane: TimerLane,
            _ fire: @escaping @Sendable () -> Void
        ) {
            self.date = date
            self.number = number
            self.lane = lane
            self.fire = fire
        }

        func invalidate() { lane?.timers[number] = nil }
    }

    private var queue: [@Sendable () -> Void] = []
    fileprivate var timers: [Int: Timer] = [:]
    private var lastNumber = 0
    /// What the wall clock shows.
    var wall: () -> Timestamp = { .distantPast }

    override var isRunnable: Bool { !queue.isEmpty }
    override func step() { queue.removeFirst()() }
    override func clear() {
        queue = []
        timers = [:]
    }

    /// When the next timer is due.
    var firstDate: Timestamp? { timers.values.lazy.map(\.date).min() }

    /// Fires the timers that are due, the earliest first.
    func fireTimers() {
        let due = timers.values.filter { $0.date <= conductor.now }
            .sorted { ($0.date, $0.number) < ($1.date, $1.number) }
        for timer in due {
            perform { [self] in
                // One that fired before it may have taken it out.
                guard timers.removeValue(forKey: timer.number) != nil else { return }
                timer.fire()
            }
        }
    }

    // MARK: - TimerLoop

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        perform { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { checkIsCurrent() }

    @discardableResult
    func perform(_ work: @escaping @Sendable () -> Void) -> Bool {
        conductor.checkThread()
        queue.append(work)
        return true
    }

    func arm(
        _ call: TimerCall,
        at date: Timestamp,
        tolerance: TimeSpan,
        for scheduler: Scheduler
    ) -> any ArmedTimer {
        lastNumber += 1
        let date = conductor.now + (date - wall())
        let timer = Timer(date, lastNumber, self) {
            scheduler.assumeIsolated { $0.timerFired(for: call) }
        }
        timers[lastNumber] = timer
        return timer
    }
}

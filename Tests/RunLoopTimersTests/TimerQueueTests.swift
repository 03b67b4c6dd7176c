// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
import Testing

@testable import RunLoopTimers

@Suite("TimerQueue", .timeLimit(.minutes(5)))
struct TimerQueueTests {
    private static func onQueue(_ queue: DispatchQueue) -> DispatchSpecificKey<Bool> {
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        return key
    }

    @Test("A timer calls out on its queue, by date and by hand, not before its date")
    func callout() async {
        let queue = DispatchQueue(label: "test")
        let key = Self.onQueue(queue)
        let log = Log<Bool>()
        let date = Date() + 0.02
        let timer = WeakTimer(fireDate: date, interval: 0.01, repeats: true) { timer in
            log.note(DispatchQueue.getSpecific(key: key) == true)
            log.note(log.count < 2 || Date() >= date)
        }
        let timers = TimerQueue(queue)
        timers.add(timer)
        timer.fire()
        await eventually("the timer has fired five times") { log.count >= 10 }
        timer.invalidate()
        #expect(log.all.allSatisfy { $0 })
    }

    @Test("On a serial queue callouts run between the queue's work, never beside it")
    func serial() async {
        let queue = DispatchQueue(label: "test")
        let timers = TimerQueue(queue)
        let isBusy = Atomic(false)
        let clashes = Log<Bool>()
        for round in 1...20 {
            let gate = Gate()
            queue.async {
                isBusy.store(true, ordering: .releasing)
                gate.pass()
                isBusy.store(false, ordering: .releasing)
            }
            timers.add(
                WeakTimer(fireDate: .now) { @Sendable _ in
                    clashes.note(isBusy.load(ordering: .acquiring))
                }
            )
            Self.open(gate)
            await eventually("the timer has fired") { clashes.count == round }
        }
        #expect(clashes.all.allSatisfy { !$0 })
    }

    /// Opens the gate by a timer of another queue: one that was due before could have fired by then.
    private static func open(_ gate: Gate) {
        TimerQueue(DispatchQueue(label: "other")).add(
            WeakTimer(fireDate: .now + 0.005) { @Sendable _ in gate.open() }
        )
    }

    @Test("On a concurrent queue no two callouts of one TimerQueue run at a time")
    func concurrent() async {
        let queue = DispatchQueue(label: "test", attributes: .concurrent)
        let running = Atomic(0)
        let clashes = Atomic(0)
        let fires = Log<Int>()
        // The first callout goes on until all the others are due.
        let gate = Gate()
        let timers = TimerQueue(queue)
        let all = (0..<8).map { number in
            WeakTimer(fireDate: .now, interval: 0.001, repeats: true) { @Sendable _ in
                if running.add(1, ordering: .acquiringAndReleasing).newValue > 1 {
                    clashes.add(1, ordering: .relaxed)
                }
                gate.pass()
                running.subtract(1, ordering: .acquiringAndReleasing)
                fires.note(number)
            }
        }
        for timer in all {
            timers.add(timer)
            timer.fire()
        }
        Self.open(gate)
        await eventually("each has fired") { Set(fires.all).count == 8 && fires.count > 100 }
        for timer in all {
            timer.invalidate()
        }
        let count = clashes.load(ordering: .relaxed)
        #expect(count == 0)
    }

    @Test("Timers of a queue are moved, fired by hand and invalidated from four threads")
    func everythingAtOnce() async {
        let timers = TimerQueue(DispatchQueue(label: "test"))
        for _ in 0..<20 {
            let all = (0..<50).map { _ in
                WeakTimer(fireDate: .now, interval: 0.0001, repeats: true) { timer in
                    timer.fireDate = .now
                }
            }
            await withTaskGroup { group in
                for action in 0..<4 {
                    group.addTask {
                        for timer in all {
                            switch action {
                            case 0: timers.add(timer)
                            case 1: timer.fireDate = .now
                            case 2: timer.fire()
                            default: timer.invalidate()
                            }
                        }
                    }
                }
            }
            #expect(all.allSatisfy { !$0.isValid })
        }
    }

    @Test("A queue's timers need nobody to hold the TimerQueue, and all is freed with the last")
    func freed() async {
        let fires = Log<Int>()
        let freed = Log<Int>()
        let (loop, timer) = {
            let timers = TimerQueue(DispatchQueue(label: "test"))
            let held = Target { freed.note(1) }
            let timer = WeakTimer(fireDate: .now, interval: 0.001, repeats: true) { _ in
                fires.note(held.calls.count)
            }
            timers.add(timer)
            return (WeakReference(timers.loop), timer)
        }()
        await eventually("the timer fires") { fires.count > 3 }
        timer.invalidate()
        await eventually("all is freed") { loop.object == nil && freed.count == 1 }
    }

    @Test("A timer of a thread cannot be added to a queue: that ends the process")
    func secondPlace() async {
        await #expect(processExitsWith: .failure) {
            let timer = WeakTimer(fireDate: .distantFuture) { _ in }
            RunLoopThread(name: "one").add(timer)
            TimerQueue(.main).add(timer)
        }
    }
}

@Suite("TimerQueue.main", .timeLimit(.minutes(5)))
@MainActor
struct MainTimerQueueTests {
    @Test("Its timers call out on the main actor")
    func isolated() async {
        let log = Log<Bool>()
        let timer = WeakTimer(fireDate: .now) { _ in
            MainActor.assumeIsolated { log.note(true) }
        }
        TimerQueue.main.add(timer)
        await eventually("the timer has fired") { log.count == 1 }
    }

    @Test("fire() on the main actor calls out at once")
    func atOnce() async {
        let log = Log<Int>()
        let timer = WeakTimer(fireDate: .distantFuture) { _ in log.note(1) }
        TimerQueue.main.add(timer)
        timer.fire()
        #expect(log.count == 1)
        #expect(!timer.isValid)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Locks
import Synchronization
import Testing

@testable import RunLoopTimers

@Suite("WeakTimer, invalidation", .timeLimit(.minutes(5)))
struct WeakTimerInvalidateTests {
    private let thread = RunLoopThread(name: "test")

    @Test("An invalidated timer is invalid at once and never calls out, wherever that was done")
    func anywhere() async {
        let thread = self.thread
        let fires = Log<Int>()
        func makeTimer(_ date: Date = .now) -> WeakTimer {
            WeakTimer(fireDate: date, interval: 0.001, repeats: true) { _ in fires.note(1) }
        }
        let timers = [makeTimer(), makeTimer(), makeTimer(.distantFuture), makeTimer()]
        // None can fire before it is invalid: while those that are due are added, the loop is held in a piece of work.
        let gate = Gate()
        await withCheckedContinuation { held in
            thread.perform {
                held.resume()
                gate.pass()
            }
        }
        timers[0].invalidate()
        timers[0].invalidate()
        thread.add(timers[0])
        thread.add(timers[1])
        timers[1].invalidate()
        thread.add(timers[2])
        gate.open()
        await thread.run {
            timers[2].fireDate = .now
            timers[2].invalidate()
            thread.add(timers[3])
            timers[3].invalidate()
        }
        #expect(timers.allSatisfy { !$0.isValid })
        let later = WeakTimer(fireDate: .now + 0.02) { _ in }
        thread.add(later)
        await eventually("a later timer has fired") { !later.isValid }
        #expect(fires.count == 0)
    }

    @Test("A repeating timer can invalidate itself in its callout", arguments: [false, true])
    func inside(byHand: Bool) async {
        let fires = Log<Bool>()
        let timer = WeakTimer(
            fireDate: byHand ? .distantFuture : .now,
            interval: 0.0001,
            repeats: true
        ) { timer in
            timer.invalidate()
            fires.note(timer.isValid)
        }
        thread.add(timer)
        if byHand {
            timer.fire()
        }
        await eventually("the timer is invalid") { !timer.isValid }
        let later = WeakTimer(fireDate: .now + 0.01) { _ in }
        thread.add(later)
        await eventually("a later timer has fired") { !later.isValid }
        #expect(fires.all == [false])
    }

    @Test("A callout can be invalidated from elsewhere while it runs, without waiting for it")
    func whileRunning() async {
        let log = Log<String>()
        let gate = Gate()
        let timer = WeakTimer(fireDate: .now, interval: 0.001, repeats: true) { _ in
            log.note("begin")
            gate.pass()
            log.note("end")
        }
        thread.add(timer)
        await eventually("the callout has begun") { log.count == 1 }
        timer.invalidate()
        #expect(!timer.isValid)
        #expect(log.all == ["begin"])
        gate.open()
        await thread.run {}
        #expect(log.all == ["begin", "end"])
    }

    @Test("A target that is gone invalidates its timer when it is due next, and is not held by it")
    func targetGone() async {
        let freed = Log<Int>()
        let fires = Log<Int>()
        let timer = {
            let target = Target { freed.note(1) }
            return WeakTimer(fireDate: .now + 0.01, interval: 0.01, repeats: true, target: target) {
                _,
                _ in
                fires.note(1)
            }
        }()
        #expect(freed.count == 1)
        #expect(timer.isValid)
        thread.add(timer)
        await eventually("the timer is invalid") { !timer.isValid }
        #expect(fires.count == 0)
        await thread.run {}
        #expect(timer.state.withLock { $0.callout == nil && $0.loop == nil && $0.places.isEmpty })
    }

    @Test("A target may invalidate its timer as it is freed", arguments: [true, false])
    func fromDeinit(onThread: Bool) async {
        let timers = Locked<[WeakTimer]>([])
        var target: Target? = Target { [thread] in
            for timer in timers.withLock({ $0 }) {
                timer.invalidate()
            }
            _ = thread
        }
        let timer = WeakTimer(fireDate: .distantFuture, target: target ?? Target()) { _, _ in }
        timers.withLock { $0 = [timer] }
        thread.add(timer)
        if onThread {
            let box = Locked(target)
            target = nil
            await thread.run { box.withLock { $0 = nil } }
        } else {
            target = nil
        }
        #expect(!timer.isValid)
    }

    @Test("A target may be freed by its own callout, and invalidate its timer then")
    func freedInCallout() async {
        let box = Log<Target>()
        let slot = Slot<Target>()
        let timerSlot = Slot<WeakTimer>()
        slot.object = Target { timerSlot.object?.invalidate() }
        timerSlot.object = slot.object.map { target in
            WeakTimer(fireDate: .now, interval: 0.001, repeats: true, target: target) { _, _ in
                slot.object = nil
            }
        }
        let timer = timerSlot.object
        timer.map { thread.add($0) }
        await eventually("the timer is invalid") { timer?.isValid == false }
        #expect(box.count == 0)
    }

    @Test("What an action holds is freed by the invalidation, even the timer itself")
    func circle() async {
        let freed = Log<Int>()
        let timer = {
            let slot = Slot<WeakTimer>()
            let held = Target { freed.note(1) }
            let timer = WeakTimer(fireDate: .distantFuture) { _ in _ = (slot.object, held) }
            slot.object = timer
            thread.add(timer)
            timer.invalidate()
            return WeakReference(timer)
        }()
        await thread.run {}
        #expect(freed.count == 1)
        #expect(timer.object == nil)
    }

    @Test("A timer that is dropped before it is added is freed")
    func droppedUnscheduled() {
        let freed = Log<Int>()
        let timer = {
            let held = Target { freed.note(1) }
            return WeakReference(WeakTimer(fireDate: .now, userInfo: held) { _ in _ = held })
        }()
        #expect(timer.object == nil)
        #expect(freed.count == 1)
    }

    @Test("A timer that is added needs nobody to hold it")
    func keptByThread() async {
        let fires = Log<Int>()
        thread.add(WeakTimer(fireDate: .now + 0.01) { _ in fires.note(1) })
        await eventually("the timer has fired") { fires.count == 1 }
    }

    @Test("Ten thousand timers that are due, invalidated from four threads, call out no more")
    func beforeCallout() async {
        let count = 10_000
        let fires = Log<Int>()
        let gate = Gate()
        let thread = self.thread
        let timers = await thread.run {
            (0..<count).map { index in
                let timer = WeakTimer(fireDate: .now + 0.001, interval: 0.0001, repeats: true) {
                    _ in
                    fires.note(index)
                }
                thread.add(timer)
                return timer
            }
        }
        // The loop is held inside a piece of work: no callout is running, and all are due.
        let fired = await withCheckedContinuation { held in
            thread.perform {
                held.resume(returning: fires.count)
                gate.pass()
            }
        }
        await Self.fromFourThreads(count) { timers[$0].invalidate() }
        gate.open()
        await thread.run {}
        #expect(fires.count == fired)
    }

    @Test("Ten thousand timers, invalidated from four threads while they fire, each stop")
    func whileFiring() async {
        let count = 10_000
        let calls = (0..<count).map { _ in CalloutRecord() }
        let thread = self.thread
        let timers = await thread.run {
            (0..<count).map { index in
                let timer = WeakTimer(fireDate: .now, interval: 0.0001, repeats: true) { _ in
                    calls[index].begin()
                }
                thread.add(timer)
                return timer
            }
        }
        await eventually("the timers fire") { calls.contains { $0.total > 1 } }
        await Self.fromFourThreads(count) { index in
            timers[index].invalidate()
            calls[index].close()
        }
        #expect(timers.allSatisfy { !$0.isValid })
        await thread.run {}
        let settled = calls.map(\.total)
        // A callout that had begun when it was invalidated may take its first step afterwards;
        // a second one would have begun afterwards.
        #expect(calls.allSatisfy { $0.totalAfterClose <= 1 })
        let later = WeakTimer(fireDate: .now + 0.05) { _ in }
        thread.add(later)
        await eventually("a later timer has fired") { !later.isValid }
        #expect(calls.map(\.total) == settled)
    }

    @Test("Four threads that add, move, fire and invalidate the same timers come to an end")
    func everythingAtOnce() async {
        let target = Target()
        for _ in 0..<20 {
            let timers = (0..<50).map { _ in
                WeakTimer(fireDate: .now, interval: 0.0001, repeats: true, target: target) {
                    target,
                    timer in
                    timer.fireDate = .now
                }
            }
            await withTaskGroup { group in
                for action in 0..<4 {
                    group.addTask { [thread] in
                        for timer in timers {
                            switch action {
                            case 0: thread.add(timer)
                            case 1: timer.fireDate = .now
                            case 2: timer.fire()
                            default: timer.invalidate()
                            }
                        }
                    }
                }
            }
            await thread.run {}
            #expect(timers.allSatisfy { !$0.isValid })
        }
    }

    private static func fromFourThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void)
        async
    {
        let done = Log<Int>()
        for source in 0..<4 {
            Thread {
                for index in stride(from: source, to: count, by: 4) {
                    body(index)
                }
                done.note(source)
            }.start()
        }
        await eventually("all four threads are done") { done.count == 4 }
    }
}

/// What one timer's callouts saw.
private final class CalloutRecord: Sendable {
    private let isClosed = Atomic(false)
    private let calls = Atomic(0)
    private let callsAfterClose = Atomic(0)

    var total: Int { calls.load(ordering: .relaxed) }
    var totalAfterClose: Int { callsAfterClose.load(ordering: .relaxed) }

    func begin() {
        calls.add(1, ordering: .relaxed)
        if isClosed.load(ordering: .acquiring) {
            callsAfterClose.add(1, ordering: .relaxed)
        }
    }

    func close() {
        isClosed.store(true, ordering: .releasing)
    }
}

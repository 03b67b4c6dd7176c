// SPDX-License-Identifier: Apache-2.0

import CoreFoundation
import Foundation
import Glibc
import Synchronization
import Testing

@testable import RunLoopTimers

/// An actor whose executor's queue is never empty as long as it feeds itself.
private actor Feeder {
    nonisolated let rounds = Atomic(0)
    nonisolated let thread: RunLoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    private var goesOn = true

    init(on thread: RunLoopThread) {
        self.thread = thread
    }

    func feed() {
        rounds.add(1, ordering: .relaxed)
        if goesOn {
            Task { self.feed() }
        }
    }

    func end() { goesOn = false }
}

@Suite("RunLoopThread, stopping", .timeLimit(.minutes(5)))
struct RunLoopThreadStopTests {
    @Test("What was enqueued before the stop runs before the thread ends")
    func rest() async {
        let thread = RunLoopThread(name: "test")
        let log = Log<Int>()
        for number in 0..<1000 {
            thread.perform { log.note(number) }
        }
        thread.stop()
        thread.stop()
        await thread.waitUntilStopped()
        #expect(log.all == Array(0..<1000))
        await thread.waitUntilStopped()
    }

    @Test("A thread that has only just been made can be stopped", arguments: 0..<50)
    func atOnce(round: Int) async {
        let thread = RunLoopThread(name: "test")
        let timer = WeakTimer(fireDate: .now) { _ in }
        thread.add(timer)
        thread.stop()
        await thread.waitUntilStopped()
        #expect(!timer.isValid)
    }

    @Test("A stop frees all timers, and all that they held")
    func frees() async {
        let thread = RunLoopThread(name: "test")
        let freed = Log<Int>()
        let loop = WeakReference(thread.loop)
        var timers: [WeakReference<WeakTimer>] = []
        var callouts: [WeakReference<Callout>] = []
        for number in 0..<1000 {
            let held = Target { freed.note(number) }
            let timer = WeakTimer(
                fireDate: .now + Double(number % 2) * 1000,
                interval: 1000,
                repeats: true,
                userInfo: Target { freed.note(number) }
            ) { timer in
                _ = (held, timer)
            }
            thread.add(timer)
            timers.append(WeakReference(timer))
            callouts.append(WeakReference(timer.state.withLock { $0.callout }))
        }
        thread.stop()
        await thread.waitUntilStopped()
        #expect(timers.allSatisfy { $0.object == nil })
        #expect(callouts.allSatisfy { $0.object == nil })
        #expect(freed.count == 2000)
        #expect(loop.object != nil)
    }

    @Test("Whoever holds a timer of a stopped thread finds it invalid, and its target let go of")
    func heldTimer() async {
        let thread = RunLoopThread(name: "test")
        let freed = Log<Int>()
        let timer = {
            let held = Target { freed.note(1) }
            return WeakTimer(fireDate: .distantFuture) { _ in _ = held }
        }()
        thread.add(timer)
        thread.stop()
        await thread.waitUntilStopped()
        #expect(!timer.isValid)
        #expect(freed.count == 1)
    }

    @Test("A stopped thread invalidates the timer it is given")
    func addAfterwards() async {
        let thread = RunLoopThread(name: "test")
        thread.stop()
        await thread.waitUntilStopped()
        let timer = WeakTimer(fireDate: .now) { _ in }
        thread.add(timer)
        await eventually("the timer is invalid") { !timer.isValid }
    }

    @Test("A stopped thread that nobody holds any more starts no thread for that")
    func releasedAfterwards() async {
        let thread = RunLoopThread(name: "test")
        let loop = thread.loop
        thread.stop()
        #expect(!loop.abandon())
        await thread.waitUntilStopped()
        #expect(!loop.abandon())
    }

    @Test("Jobs of actors that come after the stop run too, one at a time, on no run loop")
    func afterwards() async {
        let thread = RunLoopThread(name: "test")
        let resident = Resident(on: thread)
        await resident.visit()
        thread.stop()
        await thread.waitUntilStopped()
        #expect(!thread.isCurrent)
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<500 {
                        await resident.visit()
                    }
                }
            }
        }
        #expect(await resident.visits == 2001)
    }

    @Test("Work given after the stop is refused, and freed")
    func refused() async {
        let thread = RunLoopThread(name: "test")
        let log = Log<String>()
        #expect(thread.perform { log.note("before") })
        thread.stop()
        let accepted = {
            let held = Target { log.note("freed") }
            return thread.perform { log.note("ran \(held.calls.count)") }
        }()
        #expect(!accepted)
        await thread.waitUntilStopped()
        #expect(log.all.sorted() == ["before", "freed"])
    }

    @Test("A stop ends a thread whose work feeds itself")
    func selfFeeding() async {
        let thread = RunLoopThread(name: "test")
        let rounds = Atomic(0)
        let lastAccepted = Atomic(true)
        @Sendable func again() {
            rounds.add(1, ordering: .relaxed)
            lastAccepted.store(thread.perform(again), ordering: .relaxed)
        }
        again()
        await eventually("the work feeds itself") { rounds.load(ordering: .relaxed) > 100 }
        thread.stop()
        await Self.expectStopped(thread)
        let accepted = lastAccepted.load(ordering: .relaxed)
        #expect(!accepted)
    }

    @Test("A stop ends a thread whose actor feeds itself, and the actor goes on elsewhere")
    func selfFeedingActor() async {
        let thread = RunLoopThread(name: "test")
        let feeder = Feeder(on: thread)
        await feeder.feed()
        await eventually("the actor works") { feeder.rounds.load(ordering: .relaxed) > 100 }
        thread.stop()
        await Self.expectStopped(thread)
        let before = feeder.rounds.load(ordering: .relaxed)
        await eventually("the actor works on") {
            feeder.rounds.load(ordering: .relaxed) > before + 100
        }
        await feeder.end()
    }

    private static func expectStopped(_ thread: RunLoopThread) async {
        let hasStopped = Log<Bool>()
        Task {
            await thread.waitUntilStopped()
            hasStopped.note(true)
        }
        await eventually("the thread has stopped") { hasStopped.count == 1 }
    }

    @Test("A stop ends the loop also while somebody runs it inside a callout")
    func nested() async {
        let thread = RunLoopThread(name: "test")
        let log = Log<Int>()
        thread.add(
            WeakTimer(fireDate: .now) { _ in
                log.note(1)
                CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, false)
                log.note(2)
            }
        )
        await eventually("the callout has begun") { log.count == 1 }
        thread.stop()
        await thread.waitUntilStopped()
        #expect(log.all == [1, 2])
    }

    @Test("A CFRunLoopStop by somebody else does not end the thread")
    func foreignStop() async {
        let thread = RunLoopThread(name: "test")
        await thread.run { CFRunLoopStop(CFRunLoopGetCurrent()) }
        let fires = Log<Int>()
        thread.add(WeakTimer(fireDate: .now + 0.01) { _ in fires.note(1) })
        await eventually("the timer has fired") { fires.count == 1 }
    }

    @Test("A thread that nobody holds lives until the last of its timers is invalid")
    func dropped() async {
        let fires = Log<Int>()
        let (loop, timers) = {
            let thread = RunLoopThread(name: "test")
            let timers = [
                WeakTimer(fireDate: .now + 0.05) { _ in fires.note(1) },
                WeakTimer(fireDate: .now + 0.01, interval: 0.01, repeats: true) { timer in
                    fires.note(2)
                },
            ]
            for timer in timers {
                thread.add(timer)
            }
            return (WeakReference(thread.loop), timers)
        }()
        await eventually("the one-shot has fired") { fires.all.contains(1) }
        let repeated = fires.count
        await eventually("the other still fires") { fires.count > repeated + 2 }
        #expect(loop.object != nil)
        timers[1].invalidate()
        await eventually("the loop is freed") { loop.object == nil }
    }

    @Test("A one-shot whose date is set in its callout keeps a thread that nobody holds")
    func droppedAndMoved() async {
        let fires = Log<Int>()
        let loop = {
            let thread = RunLoopThread(name: "test")
            thread.add(
                WeakTimer(fireDate: .now) { timer in
                    fires.note(fires.count)
                    if fires.count < 5 {
                        timer.fireDate = .now + 0.002
                    }
                }
            )
            return WeakReference(thread.loop)
        }()
        await eventually("the loop is freed") { loop.object == nil }
        #expect(fires.all == [0, 1, 2, 3, 4])
    }

    @Test("Timers whose target is gone do not keep a thread that nobody holds")
    func droppedWithTarget() async {
        let timer = Slot<WeakTimer>()
        let loop = {
            let thread = RunLoopThread(name: "test")
            let target = Target()
            let made = WeakTimer(fireDate: .distantFuture, target: target) { _, _ in }
            thread.add(made)
            timer.object = made
            return withExtendedLifetime(target) { WeakReference(thread.loop) }
        }()
        await eventually("the loop is freed") { loop.object == nil }
        #expect(timer.object?.isValid == false)
    }

    @Test("A thread without timers that nobody holds ends at once")
    func droppedEmpty() async {
        let loop = WeakReference(RunLoopThread(name: "test").loop)
        await eventually("the loop is freed") { loop.object == nil }
    }

    @Test("A thread may be dropped by its own work")
    func droppedInside() async {
        let log = Log<Int>()
        let loop = {
            let thread = RunLoopThread(name: "test")
            let gate = Gate()
            thread.perform { [thread] in
                gate.pass()
                log.note(thread.isCurrent ? 1 : 0)
            }
            gate.open()
            return WeakReference(thread.loop)
        }()
        await eventually("the loop is freed") { loop.object == nil }
        #expect(log.all == [1])
    }

    @Test("An actor that owns its thread can be dropped while its job runs")
    func droppedActor() async {
        let resident = WeakReference(await Self.visited())
        await eventually("the actor is freed") { resident.object == nil }
    }

    private static func visited() async -> Resident {
        let resident = Resident(on: RunLoopThread(name: "test"))
        await resident.visit()
        return resident
    }

    @Test("Threads, their run loops and their descriptors are gone when they have stopped")
    func descriptors() async throws {
        await #expect(processExitsWith: .success) {
            func open() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            }
            func threads() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
            }
            var before = 0
            for round in 0..<200 {
                let thread = RunLoopThread(name: "test")
                thread.add(WeakTimer(fireDate: .now + 1000) { _ in })
                thread.stop()
                await thread.waitUntilStopped()
                if round == 20 {
                    before = try open()
                }
            }
            // The concurrency runtime and Dispatch may have started a few threads meanwhile.
            await eventually("no more than 20 threads are left") { (try? threads()) ?? 99 <= 20 }
            await eventually("no more than 8 further files are open") {
                (try? open()) ?? 99 <= before + 8
            }
        }
    }
}

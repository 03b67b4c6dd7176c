// SPDX-License-Identifier: Apache-2.0

import CoreFoundation
import Foundation
import Glibc
import RunLoopTimers
import Testing

/// An actor that lives on a run loop thread.
actor Resident {
    nonisolated let thread: RunLoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    private(set) var visits = 0

    init(on thread: RunLoopThread) {
        self.thread = thread
    }

    func visit() {
        visits += 1
    }

    func note<Element>(_ element: Element, in log: Log<Element>) {
        log.note(element)
    }
}

@Suite("RunLoopThread", .timeLimit(.minutes(5)))
struct RunLoopThreadTests {
    @Test("Work runs on the thread, and nothing else does")
    func current() async {
        let thread = RunLoopThread(name: "test")
        #expect(!thread.isCurrent)
        #expect(await thread.run { thread.isCurrent })
        let other = RunLoopThread(name: "other")
        #expect(await other.run { thread.isCurrent } == false)
    }

    @Test(
        "The thread bears the first 15 bytes of its name",
        arguments: [
            ("timers", "timers"), ("a-very-long-thread-name", "a-very-long-thr"), ("", nil),
        ]
    )
    func name(given: String, borne: String?) async throws {
        let thread = RunLoopThread(name: given)
        let name = await thread.run {
            try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
        }
        if let borne {
            #expect(name == borne + "\n")
        }
    }

    @Test("Work given from the thread itself runs later, not at once")
    func fromInside() async {
        let thread = RunLoopThread(name: "test")
        let log = Log<Int>()
        await thread.run {
            thread.perform { log.note(2) }
            log.note(1)
        }
        await thread.run {}
        #expect(log.all == [1, 2])
    }

    @Test(
        "Work and the jobs of an actor run in the order in which they came, whatever their priority"
    )
    func order() async {
        let thread = RunLoopThread(name: "test")
        let resident = Resident(on: thread)
        let log = Log<Int>()
        let gate = Gate()
        thread.perform { gate.pass() }
        for number in 0..<300 {
            switch number % 3 {
            case 0: thread.perform { log.note(number) }
            case 1: Task.immediate(priority: .background) { await resident.note(number, in: log) }
            default: Task.immediate(priority: .high) { await resident.note(number, in: log) }
            }
        }
        gate.open()
        await eventually("all 300 ran") { log.count == 300 }
        #expect(log.all == Array(0..<300))
    }

    @Test("Work is freed when it has run, before what came after it runs")
    func freed() async {
        let thread = RunLoopThread(name: "test")
        let log = Log<String>()
        let gate = Gate()
        thread.perform { gate.pass() }
        for number in 1...2 {
            let held = Target { log.note("freed \(number)") }
            thread.perform {
                _ = held
                log.note("ran \(number)")
            }
        }
        gate.open()
        await thread.run {}
        #expect(log.all == ["ran 1", "freed 1", "ran 2", "freed 2"])
    }

    @Test("Work from four threads keeps the order of each")
    func orderOfEach() async {
        let thread = RunLoopThread(name: "test")
        let log = Log<(Int, Int)>()
        await withTaskGroup { group in
            for source in 0..<4 {
                group.addTask {
                    for number in 0..<5000 {
                        thread.perform { log.note((source, number)) }
                    }
                }
            }
        }
        await thread.run {}
        for source in 0..<4 {
            #expect(log.all.filter { $0.0 == source }.map(\.1) == Array(0..<5000))
        }
    }

    @Test("A sleeping loop is woken by work")
    func wake() async {
        let thread = RunLoopThread(name: "test")
        for _ in 0..<200 {
            // The loop sleeps again before the next round, or is about to: both must be woken.
            await thread.run {}
        }
    }

    @Test("Work that never ends does not starve a timer")
    func noStarvingOfTimers() async {
        let thread = RunLoopThread(name: "test")
        let fires = Log<Int>()
        @Sendable func again() {
            if fires.count < 100 {
                thread.perform(again)
            }
        }
        thread.add(
            WeakTimer(fireDate: .now, interval: 0.001, repeats: true) { timer in
                fires.note(timer.missed)
            }
        )
        again()
        await eventually("the timer has fired 100 times") { fires.count >= 100 }
        thread.stop()
    }

    @Test("A long queue of work does not keep a timer waiting for its end, and keeps its order")
    func longQueue() async {
        let thread = RunLoopThread(name: "test")
        let (gate, log, before) = (Gate(), Log<Int>(), Log<Int>())
        thread.perform { gate.pass() }
        thread.add(WeakTimer(fireDate: .now) { _ in before.note(log.count) })
        for number in 0..<20_000 { thread.perform { log.note(number) } }
        gate.open()
        await thread.run {}
        #expect(log.all == Array(0..<20_000))
        await eventually("the timer has fired") { before.count == 1 }
        #expect(before.all.allSatisfy { $0 < 20_000 })
        thread.stop()
    }

    @Test("A timer that is always due does not starve work: it fires once before the next piece")
    func noStarvingOfWork() async {
        let thread = RunLoopThread(name: "test")
        let fires = Log<Int>()
        let timer = WeakTimer(fireDate: .now, interval: 0, repeats: true) { timer in
            fires.note(1)
            timer.fireDate = .distantPast
        }
        thread.add(timer)
        await eventually("the timer fires") { fires.count > 0 }
        let between = Log<Int>()
        for _ in 0..<50 {
            await withCheckedContinuation { done in
                thread.perform {
                    let before = fires.count
                    thread.perform {
                        between.note(fires.count - before)
                        done.resume()
                    }
                }
            }
        }
        timer.invalidate()
        #expect(between.all.allSatisfy { $0 <= 1 }, "\(between.all)")
    }

    @Test("A callout that runs the loop lets the others fire, also those due in the same pass")
    func nestedCallout() async {
        let thread = RunLoopThread(name: "test")
        let log = Log<Int>()
        await thread.run {
            // Wall dates become monotonic ones to within microseconds; these are apart.
            let date = Date() - 1
            thread.add(
                WeakTimer(fireDate: date - 1) { _ in
                    log.note(1)
                    let end = Date() + 20
                    while log.count < 5, Date() < end {
                        CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.01, true)
                    }
                    log.note(5)
                }
            )
            thread.add(WeakTimer(fireDate: date) { _ in log.note(2) })
            thread.add(WeakTimer(fireDate: date + 1.01) { _ in log.note(3) })
            thread.add(WeakTimer(fireDate: date + 1.02) { _ in log.note(4) })
            thread.add(WeakTimer(fireDate: date) { _ in log.note(2) })
        }
        await eventually("all have fired") { log.count == 6 }
        #expect(log.all == [1, 2, 2, 3, 4, 5])
    }

    @Test("Timers that are due fire by date, whatever the order in which they were added")
    func orderOfTimers() async {
        let thread = RunLoopThread(name: "test")
        let log = Log<Int>()
        await thread.run {
            // Far apart, since a wall date becomes a monotonic one only to within a microsecond, or
            // as long as the thread loses the processor.
            let first = Date() - 100_000
            for number in (0..<1000).shuffled() {
                thread.add(
                    WeakTimer(fireDate: first + Double(number * 100)) { _ in log.note(number) }
                )
            }
        }
        await eventually("all have fired") { log.count == 1000 }
        #expect(log.all == Array(0..<1000))
    }

    // MARK: The executor

    @Test("An actor on the thread runs there")
    func actorRunsThere() async {
        let thread = RunLoopThread(name: "test")
        let resident = Resident(on: thread)
        await resident.visit()
        #expect(await resident.visits == 1)
        #expect(await resident.isCurrent)
    }

    @Test("A timer's callout enters an actor of its thread without a hop")
    func withoutHop() async {
        let thread = RunLoopThread(name: "test")
        let resident = Resident(on: thread)
        let log = Log<[Int]>()
        thread.add(
            WeakTimer(fireDate: .now, target: resident) { resident, _ in
                // Behind this work there is no entering between the two lines below.
                thread.perform { log.note([]) }
                let before = resident.assumeIsolated { $0.visits }
                resident.assumeIsolated { $0.visit() }
                log.note([before, resident.assumeIsolated { $0.visits }])
            }
        )
        await eventually("the timer has fired") { log.count == 2 }
        #expect(log.all == [[0, 1], []])
    }

    @Test("The thread knows whether it isolates the caller")
    func isolating() async {
        let thread = RunLoopThread(name: "test")
        #expect(thread.isIsolatingCurrentContext() == false)
        #expect(await thread.run { thread.isIsolatingCurrentContext() } == true)
    }

    @Test("To assume isolation elsewhere ends the process")
    func assumedElsewhere() async {
        await #expect(processExitsWith: .failure) {
            Resident(on: RunLoopThread(name: "test")).enter()
        }
        await #expect(processExitsWith: .failure) {
            RunLoopThread(name: "test").checkIsolated()
        }
    }
}

extension Resident {
    fileprivate var isCurrent: Bool { thread.isCurrent }

    nonisolated fileprivate func enter() {
        assumeIsolated { _ in }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import RunLoopTimers
import Testing

/// The usual code of the field: none of this is Sendable.
private final class Counter {
    var count = 0
    private let onDeinit: () -> Void

    init(onDeinit: @escaping () -> Void = {}) {
        self.onDeinit = onDeinit
    }

    deinit {
        onDeinit()
    }
}

/// A model as a program with a main loop has it.
@MainActor
private final class Model {
    private(set) var ticks = 0
    private(set) var timer: WeakTimer?
    let counter = Counter()

    func startWithTarget() {
        timer = .scheduledTimer(timeInterval: 0.001, target: self, userInfo: 2, repeats: true) {
            model,
            timer in
            model.ticks += timer.userInfo as? Int ?? 0
        }
    }

    func startWithBlock() {
        timer = .scheduledTimer(withTimeInterval: 0.001, repeats: true) { [weak self] _ in
            self?.ticks += 1
            self?.counter.count += 1
        }
    }

    /// A target that is not Sendable, and belongs to the main actor.
    func startWithCounter() {
        timer = .scheduledTimer(timeInterval: 0.001, target: counter, repeats: true) {
            counter,
            _ in
            counter.count += 1
        }
    }
}

@Suite("WeakTimer, of the main actor", .timeLimit(.minutes(5)))
@MainActor
struct MainActorTimerTests {
    @Test("A target on the main actor is called there")
    func target() async {
        let model = Model()
        model.startWithTarget()
        await eventually("it ticks") { model.ticks >= 6 }
        #expect(model.ticks.isMultiple(of: 2))
        model.timer?.invalidate()
        let ticks = model.ticks
        await Task.yield()
        #expect(model.ticks == ticks)
    }

    @Test("A block on the main actor may use what is not Sendable")
    func block() async {
        let model = Model()
        model.startWithBlock()
        await eventually("it ticks") { model.ticks >= 3 && model.counter.count >= 3 }
        model.timer?.invalidate()
    }

    @Test("A target of the main actor that is not Sendable is called, and not held")
    func notSendable() async {
        var model: Model? = Model()
        model?.startWithCounter()
        let timer = model?.timer
        await eventually("it counts") { (model?.counter.count ?? 0) >= 3 }
        weak let counter = model?.counter
        model = nil
        #expect(counter == nil)
        await eventually("the timer is invalid") { timer?.isValid == false }
    }
}

/// An actor that lives on a thread, with a timer on what is its own.
private actor Directory {
    nonisolated let thread: RunLoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    private var counter: Counter? = Counter()
    private var own = 0

    init(on thread: RunLoopThread) {
        self.thread = thread
    }

    var counts: (Int, Int) { (counter?.count ?? -1, own) }
    func drop() { counter = nil }

    func makeTimer() -> WeakTimer? {
        counter.map { counter in
            WeakTimer(
                fireDate: .now,
                interval: 0.001,
                repeats: true,
                target: counter,
                isolation: self
            ) { [weak self] counter, _ in
                counter.count += 1
                self?.assumeIsolated { $0.own += 1 }
            }
        }
    }
}

@Suite("WeakTimer, of an actor on a thread", .timeLimit(.minutes(5)))
struct ActorTimerTests {
    @Test("A target that is not Sendable is called on the actor, as long as it is there")
    func target() async throws {
        let directory = Directory(on: RunLoopThread(name: "test"))
        let timer = try #require(await directory.makeTimer())
        directory.thread.add(timer)
        while await directory.counts.0 < 3 {
            await Task.yield()
        }
        await directory.drop()
        await eventually("the timer is invalid") { !timer.isValid }
        #expect(await directory.counts.0 == -1)
        #expect(await directory.counts.1 >= 3)
    }

    @Test("The timer does not hold its actor, and ends with it")
    func actorGone() async throws {
        let thread = RunLoopThread(name: "test")
        weak var directory: Directory?
        let timer = try await {
            let made = Directory(on: thread)
            directory = made
            return try #require(await made.makeTimer())
        }()
        #expect(directory == nil)
        thread.add(timer)
        await eventually("the timer is invalid") { !timer.isValid }
    }

    @Test("To add such a timer elsewhere than where its actor lives ends the process")
    func elsewhere() async {
        await #expect(processExitsWith: .failure) {
            let directory = Directory(on: RunLoopThread(name: "one"))
            let timer = try #require(await directory.makeTimer())
            let other = RunLoopThread(name: "two")
            other.add(timer)
            await other.run {}
            await other.run {}
            withExtendedLifetime(directory) {}
        }
    }

    @Test("A block may own what is not Sendable, made where the timer is made")
    func sent() async {
        let freed = Log<Int>()
        let log = Log<Int>()
        let thread = RunLoopThread(name: "test")
        func makeTimer() -> WeakTimer {
            let counter = Counter { freed.note(1) }
            return WeakTimer(fireDate: .now, interval: 0.001, repeats: true) { timer in
                counter.count += 1
                log.note(counter.count)
                if counter.count == 5 {
                    timer.invalidate()
                }
            }
        }
        thread.add(makeTimer())
        await eventually("the counter is freed") { freed.count == 1 }
        #expect(log.all == [1, 2, 3, 4, 5])
    }
}

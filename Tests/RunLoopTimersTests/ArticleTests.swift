// SPDX-License-Identifier: Apache-2.0

import Foundation
import RunLoopTimers
import Testing

/// The examples of RunLoopTimers.docc, word for word, as DocumentTests check, and what they do.
@Suite("The article on RunLoopTimers", .timeLimit(.minutes(2)))
struct ArticleTests {
    private final class Cache: Sendable {
        let purges = Log<Date>()
        func purge() { purges.note(.now) }
    }

    @MainActor final class Clock {
        private(set) var ticks = 0

        func start() {
            WeakTimer.scheduledTimer(timeInterval: 1, target: self, repeats: true) { clock, timer in
                clock.ticks += 1
            }
        }
    }

    @Test("A timer of the main actor calls a target of the main actor")
    @MainActor func mainActor() async {
        let clock = Clock()
        clock.start()
        await eventually("it ticks") { clock.ticks > 0 }
    }

    @Test("A timer is scheduled on a queue")
    func queue() async {
        let board = Log<String>()
        schedule(on: DispatchQueue(label: "test"), board)
        await eventually("it is noted") { board.all == ["still here"] }
    }

    private func schedule(on queue: DispatchQueue, _ board: Log<String>) {
        let timers = TimerQueue(queue)
        WeakTimer.scheduledTimer(withTimeInterval: 1, repeats: true, on: timers) { timer in
            board.note("still here")
        }
    }

    private func purging(_ cache: Cache) -> (thread: RunLoopThread, timer: WeakTimer) {
        let thread = RunLoopThread(name: "timers")
        let timer = WeakTimer(fireDate: .now + 5, interval: 5, repeats: true, target: cache) {
            cache,
            timer in
            cache.purge()
        }
        thread.add(timer)
        return (thread, timer)
    }

    @Test("A timer ends with its target")
    func target() async throws {
        var cache: Cache? = Cache()
        let purges = try #require(cache).purges
        let (thread, timer) = purging(try #require(cache))
        timer.fireDate = .now
        await eventually("the cache is purged") { purges.count == 1 }
        cache = nil
        timer.fireDate = .now
        await eventually("the timer is invalid") { !timer.isValid }
        #expect(purges.count == 1)
        thread.stop()
    }

    @Test("A timer carries something, is moved and stopped from anywhere")
    func userInfo() async {
        let thread = RunLoopThread(name: "timers")
        let board = Log<String>()
        let reminder = WeakTimer(fireDate: .now + 1, userInfo: "stand up") { timer in
            board.note(timer.userInfo as? String ?? "")
        }
        thread.add(reminder)
        reminder.fire()
        await eventually("it is noted") { board.all == ["stand up"] }
        let other = move(onto: thread)
        #expect(!other.isValid)
    }

    private func move(onto thread: RunLoopThread) -> WeakTimer {
        let reminder = WeakTimer(fireDate: .now + 1) { _ in }
        thread.add(reminder)
        reminder.fireDate = .now + 1800
        reminder.invalidate()
        return reminder
    }

    actor Heartbeat {
        private let thread = RunLoopThread(name: "heartbeat")
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
        private var beats = 0

        func start() {
            let timer = WeakTimer(fireDate: .now + 1, interval: 1, repeats: true, target: self) {
                heart,
                timer in
                heart.assumeIsolated { $0.beats += 1 }
            }
            thread.add(timer)
        }
    }

    @Test("An actor lives on the thread")
    func actor() async {
        let heart = Heartbeat()
        await heart.start()
        #expect(await heart.beatsSoon > 0)
    }
}

extension ArticleTests.Heartbeat {
    /// The beats that there are after the first was due, counted on the thread itself.
    fileprivate var beatsSoon: Int {
        get async {
            await withCheckedContinuation { counted in
                let timer = WeakTimer(fireDate: .now + 1.5) { _ in
                    counted.resume(returning: self.assumeIsolated { $0.beats })
                }
                thread.add(timer)
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import RunLoopTimers

/// What the library RunLoopTimers costs, without a daemon.
struct Timers: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "RunLoopTimers: add and invalidate, and a call to an actor on the thread.",
        discussion: """
            Adds timers that are due in random order in an hour, then invalidates them in the \
            order of their making, all on their thread; beside Foundation's Timer on the same \
            thread. A call to an actor on the thread and back is beside two threads that wake \
            each other through eventfds.
            """
    )

    @OptionGroup var common: CommonOptions

    @Option(help: "How many timers at once; may be given several times. [default: 1000 and 10000]")
    var timers: [Int] = []

    @Option(help: "How many calls.")
    var calls = 20_000

    @Option(help: "How often each is measured; the medians are shown.")
    var rounds = 5

    func validate() throws {
        guard timers.allSatisfy({ 1...50_000 ~= $0 }), 1...1_000_000 ~= calls, 1...100 ~= rounds
        else {
            throw ValidationError(
                "accepted: 1 to 50000 timers, 1 to 1000000 calls, 1 to 100 rounds"
            )
        }
    }

    func run() async throws { try await common.perform { try await measure(on: $0) } }

    func measure(on bench: Bench) async throws {
        let thread = RunLoopThread(name: "benchmark")
        defer { thread.stop() }
        var figures: [Figure] = []
        for count in timers.isEmpty ? [1000, 10_000] : timers {
            figures += await lives(of: count, on: thread)
        }
        figures += try await hops(to: thread)
        try bench.report.table("RunLoopTimers", figures)
    }

    // MARK: - Timers

    /// µs a timer.
    private struct Life: Sendable {
        var add: Double
        var invalidate: Double
    }

    private func lives(of count: Int, on thread: RunLoopThread) async -> [Figure] {
        var ours: [Life] = []
        var foundations: [Life] = []
        for _ in 0..<rounds {
            ours.append(await perform(on: thread) { Self.weakTimers(count, on: thread) })
            foundations.append(await perform(on: thread) { Self.foundationTimers(count) })
        }
        let beside = "Foundation.Timer"
        return [
            Figure("add, \(count) timers", ours.median(\.add), .microseconds)
                .beside(beside, foundations.median(\.add)),
            Figure("invalidate, \(count) timers", ours.median(\.invalidate), .microseconds)
                .beside(beside, foundations.median(\.invalidate)),
        ]
    }

    private static func weakTimers(_ count: Int, on thread: RunLoopThread) -> Life {
        let dates = fireDates(count)
        let (add, timers) = Clock.time {
            dates.map { date in
                let timer = WeakTimer(fireDate: date) { _ in }
                thread.add(timer)
                return timer
            }
        }
        let (invalidate, _) = Clock.time { for timer in timers { timer.invalidate() } }
        return Life(add: add * 1e6 / Double(count), invalidate: invalidate * 1e6 / Double(count))
    }

    private static func foundationTimers(_ count: Int) -> Life {
        let dates = fireDates(count)
        let (add, timers) = Clock.time {
            dates.map { date in
                let timer = Timer(fire: date, interval: 0, repeats: false) { _ in }
                RunLoop.current.add(timer, forMode: .default)
                return timer
            }
        }
        let (invalidate, _) = Clock.time { for timer in timers { timer.invalidate() } }
        return Life(add: add * 1e6 / Double(count), invalidate: invalidate * 1e6 / Double(count))
    }

    private static func fireDates(_ count: Int) -> [Date] {
        var random = SplitMix(seed: UInt64(count))
        let hour = Date() + 3600
        return (0..<count).map { hour + Double($0) / 1000 }.shuffled(using: &random)
    }

    private func perform<T: Sendable>(
        on thread: RunLoopThread,
        _ body: @escaping @Sendable () -> T
    ) async -> T {
        await withCheckedContinuation { continuation in
            thread.perform { continuation.resume(returning: body()) }
        }
    }

    // MARK: - Calls

    private func hops(to thread: RunLoopThread) async throws -> [Figure] {
        let echo = Echo(thread: thread)
        var times: [Double] = []
        times.reserveCapacity(calls)
        for _ in 0..<calls {
            let start = ContinuousClock.now
            let isThere = await echo.answer()
            guard isThere else { throw BenchmarkError("a call was not run on its thread") }
            times.append((ContinuousClock.now - start).inSeconds * 1e6)
        }
        guard await echo.answered == calls else {
            throw BenchmarkError("not every call was run")
        }
        let ours = Samples(times)
        let bare = Samples(try await Clock.onThread { [calls] in try ThreadPair.roundTrips(calls) })
        return [
            Figure("call and back, p50", ours.median, .microseconds)
                .beside("two threads, eventfd", bare.median),
            Figure("call and back, p99", ours.percentile(99), .microseconds)
                .beside("two threads, eventfd", bare.percentile(99)),
        ]
    }

    /// Lives on the run loop's thread.
    private actor Echo {
        private let thread: RunLoopThread
        nonisolated var unownedExecutor: UnownedSerialExecutor {
            thread.asUnownedSerialExecutor()
        }

        init(thread: RunLoopThread) { self.thread = thread }

        private(set) var answered = 0

        /// Touches the actor's state: the compiler leaves out a hop that nothing needs.
        ///
        /// - Returns: whether this ran on the thread.
        func answer() -> Bool {
            answered += 1
            return thread.isCurrent
        }
    }
}

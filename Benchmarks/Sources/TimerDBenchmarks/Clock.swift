// SPDX-License-Identifier: Apache-2.0

import CLimits
import Foundation
import Schedules

/// The wall clock, and threads that may block.
enum Clock {
    /// CLOCK_REALTIME, to the microsecond, as timerd's own stamps.
    static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }

    /// The processor time of all threads of this process, in seconds.
    static var ownProcessorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The processor time of the calling thread, in seconds.
    static var threadProcessorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// How long `body` took, in seconds, and what it returned.
    static func time<T>(_ body: () throws -> T) rethrows -> (seconds: Double, value: T) {
        let start = ContinuousClock.now
        let value = try body()
        return ((ContinuousClock.now - start).inSeconds, value)
    }

    /// Repeats `part` until it has taken so many seconds of processor time, and returns how many.
    static func processorTime(atLeast seconds: Double, _ part: () throws -> Void) rethrows -> Double
    {
        let begin = ownProcessorTime
        var elapsed = 0.0
        repeat {
            try part()
            elapsed = ownProcessorTime - begin
        } while elapsed < seconds
        return elapsed
    }

    /// Runs what blocks on a thread of its own, so that no task waits for it unawares.
    static func onThread<T: Sendable>(
        _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Ends `body` after a time, so that a benchmark cannot hang.
    ///
    /// - Throws: `BenchmarkError`, naming what was waited for.
    static func limit<T: Sendable>(
        _ seconds: Double,
        _ what: String,
        _ body: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        try await withThrowingTaskGroup(of: T?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: .seconds(seconds))
                return nil
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() ?? nil else {
                throw BenchmarkError("waited \(Int(seconds)) s for \(what)")
            }
            return value
        }
    }
}

extension Duration {
    var inSeconds: Double { self / .seconds(1) }
}

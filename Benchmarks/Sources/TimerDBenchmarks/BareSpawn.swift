// SPDX-License-Identifier: Apache-2.0

import CLimits
import Foundation
import Schedules

/// The least that can run programs: posix_spawn and waitpid, nothing else.
enum BareSpawn {
    /// Runs a program once.
    static func run(_ arguments: [String]) throws {
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        words.append(nil)
        defer { for word in words { free(word) } }
        var pid: pid_t = 0
        let failure = posix_spawn(&pid, arguments[0], nil, nil, words, environ)
        guard failure == 0 else {
            throw BenchmarkError(
                "cannot start '\(arguments[0])': \(String(cString: strerror(failure)))"
            )
        }
        waitpid(pid, nil, 0)
    }

    /// Runs a program again and again on so many threads.
    ///
    /// - Returns: runs a second, and the processor time of each without the program's own, in µs.
    static func rate(_ arguments: [String], atOnce: Int, seconds: Double) async throws -> (
        rate: Double, cost: Double
    ) {
        let processorTime = Clock.ownProcessorTime
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        let runs = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<atOnce {
                group.addTask {
                    try await Clock.onThread {
                        var runs = 0
                        while ContinuousClock.now < end {
                            try run(arguments)
                            runs += 1
                        }
                        return runs
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        return (
            Double(runs) / (ContinuousClock.now - start).inSeconds,
            (Clock.ownProcessorTime - processorTime) * 1e6 / Double(runs)
        )
    }
}

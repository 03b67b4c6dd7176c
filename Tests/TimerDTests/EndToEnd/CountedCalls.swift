// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Subprocess
import SystemPackage

/// The system calls of a process, by name, as strace(1) counts them.
struct CountedCalls {
    private var counts: [String: Int] = [:]

    /// Counts those of all threads of the daemon while `body` runs.
    static func of(
        _ daemon: DaemonProcess,
        during body: @escaping @Sendable () async throws -> Void
    ) async throws -> CountedCalls {
        let file = daemon.folder + "/calls"
        _ = try await run(
            .path(FilePath(DurabilityTests.strace)),
            arguments: ["-c", "-f", "-o", file, "-p", "\(daemon.pid)"],
            input: .none,
            output: .discarded,
            error: .sequence
        ) { execution in
            var isAttached = false
            for try await line in execution.standardError.strings()
            where !isAttached && line.contains("attached") {
                isAttached = true
                try await body()
                // Detaches, and writes what was counted.
                try execution.send(signal: .interrupt)
            }
        }
        return CountedCalls(summary: try String(contentsOfFile: file, encoding: .utf8))
    }

    /// Reads a table of the columns "% time, seconds, usecs/call, calls, errors, syscall".
    private init(summary: String) {
        for line in summary.split(separator: "\n") {
            let columns = line.split(separator: " ")
            guard columns.count >= 5, let name = columns.last, name != "total",
                let count = Int(columns[3])
            else { continue }
            counts[String(name), default: 0] += count
        }
    }

    subscript(name: String) -> Int { counts[name] ?? 0 }

    func sum(where isCounted: (String) -> Bool) -> Int {
        counts.reduce(0) { $0 + (isCounted($1.key) ? $1.value : 0) }
    }

    /// For a failure: each call's count for one of so many operations, the most frequent first.
    func table(per operations: Int) -> String {
        counts.sorted { $0.value > $1.value }
            .map { "\($0.key) \(Double($0.value * 100 / operations) / 100)" }
            .joined(separator: ", ")
    }
}

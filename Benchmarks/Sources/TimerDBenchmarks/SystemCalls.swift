// SPDX-License-Identifier: Apache-2.0

import CLimits
import Foundation

/// The system calls that a process makes, counted by strace(1).
struct SystemCalls: Sendable {
    private let tracer: pid_t
    private let file: String

    /// Whether there is a strace to count with.
    static let isAvailable = FileManager.default.isExecutableFile(atPath: strace)
    private static let strace = "/usr/bin/strace"

    /// Counts those of a process from now on; returns once all its threads are traced.
    ///
    /// - Throws: where the machine does not let it.
    static func begin(of pid: pid_t, in folder: TemporaryFolder) async throws -> SystemCalls {
        let file = folder.file("system-calls")
        let tracer = try ChildProgram.start(
            [strace, "-c", "-f", "-o", file, "-p", "\(pid)"],
            log: folder.file("strace.log")
        )
        let calls = SystemCalls(tracer: tracer, file: file)
        do {
            try await Clock.limit(10, "strace to attach") {
                while !areTraced(pid) { try await Task.sleep(for: .milliseconds(10)) }
            }
        } catch {
            _ = try calls.end()
            throw error
        }
        return calls
    }

    private static func areTraced(_ pid: pid_t) -> Bool {
        let folder = "/proc/\(pid)/task/"
        // try?: a process that has ended is not traced.
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return !threads.isEmpty
            && threads.allSatisfy {
                ProcFile.number("TracerPid", in: folder + $0 + "/status") ?? 0 != 0
            }
    }

    /// Stops counting.
    ///
    /// - Returns: how many there were of each, by name.
    func end() throws -> [String: Int] {
        kill(tracer, SIGINT)
        waitpid(tracer, nil, 0)
        var counts: [String: Int] = [:]
        // "% time, seconds, usecs/call, calls, errors, syscall"; the errors may be missing.
        for line in ProcFile.lines(file) {
            let columns = line.split(separator: " ")
            guard columns.count >= 5, let name = columns.last, name != "total",
                let count = Int(columns[3])
            else { continue }
            counts[String(name), default: 0] += count
        }
        return counts
    }
}

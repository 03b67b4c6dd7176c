// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Schedules
import Testing
import TimerControl

@testable import LinuxSystem
@testable import TimerD

/// One user against another: what jobs of one that want all of the machine do to a job of the other.
@Suite(
    "Torture: greedy jobs",
    .timeLimit(.minutes(20)),
    .enabled(if: Torture.isLong && Torture.isRoot)
)
struct GreedyJobsTortureTests {
    /// What the load may add to the lateness of a quiet user's fires, at the 99th percentile.
    static let bound = 5.0

    /// Of a job's dates within a time: how late the fires were, in ms, sorted, and how many were lost.
    struct Punctuality {
        var lateness: [Double] = []
        var lost = 0

        init(_ runs: [Run], from start: Timestamp, to end: Timestamp) {
            for run in runs where start <= run.fireDate && run.fireDate < end {
                if run.state == .skipped {
                    lost += run.dates ?? 1
                } else if let firedAt = run.firedAt {
                    lateness.append(Double((firedAt - run.fireDate).microseconds) / 1000)
                }
            }
            lateness.sort()
        }

        var p99: Double { lateness.isEmpty ? .infinity : lateness[lateness.count * 99 / 100] }
        var text: String { String(format: "p99 %.2f ms of %d", p99, lateness.count) }
    }

    @Test(
        "Jobs of one user that are due every millisecond cost another's job no date, and 5 ms at most",
        arguments: [1000, 10_000]
    )
    func everyMillisecond(count: Int) async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            await daemon.end(SIGTERM)
            let file = daemon.folder + "/timerd.json"
            try #"{"runsKept": 1000}"#.write(toFile: file, atomically: false, encoding: .utf8)
            try await daemon.start(["--config", file])
            func add(_ every: String, _ count: Int) -> String {
                let job = #"{"schedule":{"every":"\#(every)"}}"#
                let jobs = Array(repeating: job, count: count).joined(separator: ",")
                return #"{"jsonrpc":"2.0","id":1,"method":"job.add","params":{"jobs":[\#(jobs)]}}"#
            }
            func measure() async throws -> Punctuality {
                let start = SystemClock.read().wall
                try await Task.sleep(for: .seconds(10))
                let end = SystemClock.read().wall - .milliseconds(500)
                let runs = try await daemon.runs(["1", "-n", "1000"])
                return Punctuality(runs, from: start, to: end)
            }
            _ = try await daemon.ask(as: ben, [add("100ms", 1)])
            try await Task.sleep(for: .seconds(1))
            let alone = try await measure()
            for _ in 0..<count / 100 { _ = try await daemon.ask(as: ann, [add("1ms", 100)]) }
            let beside = try await measure()
            let his = try await daemon.runs(["2", "-n", "20"])
            var broken: [String] = []
            if beside.lost > 0 { broken.append("\(beside.lost) dates of the quiet user were lost") }
            if beside.lateness.count < 90 {
                broken.append("\(beside.lateness.count) fires in 9.5 s")
            }
            if beside.p99 > alone.p99 + Self.bound {
                broken.append("\(beside.text), and alone \(alone.text)")
            }
            if !his.contains(where: { $0.reason == .overload }) {
                broken.append("who overloads is not told so")
            }
            Torture.report(
                "one user against another: fires",
                rounds: 1,
                injected: "\(count) jobs at 1 ms beside another user's at 100 ms",
                checked: "alone \(alone.text), beside \(beside.text), \(beside.lost) lost",
                broken: broken,
                in: daemon
            )
        }
    }
}

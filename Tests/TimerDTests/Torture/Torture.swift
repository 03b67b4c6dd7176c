// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

/// How long the real daemon is tortured, and with which dice.
///
/// `make test` has the short form, a few rounds of each fault. `make torture` sets TIMERD_TORTURE=1 for
/// the long one. TIMERD_TORTURE_SEED repeats the dice of a run that failed: what clients do and when
/// a daemon is killed are the same then, but not which thread comes first.
enum Torture {
    private static let environment = ProcessInfo.processInfo.environment

    static let isLong = environment["TIMERD_TORTURE"] == "1"

    static let seed: UInt64 =
        environment["TIMERD_TORTURE_SEED"].flatMap { UInt64($0) } ?? 20_261_121

    static let isRoot = geteuid() == 0

    static func rounds(_ few: Int, long many: Int) -> Int { isLong ? many : few }

    /// Prints a line of the table of `make torture`, and fails where something is broken; then a copy
    /// of the daemon's folder is kept.
    static func report(
        _ fault: String,
        rounds: Int,
        injected: String,
        checked: String,
        broken: [String],
        in daemon: DaemonProcess,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let result = broken.isEmpty ? "kept" : "\(broken.count) BROKEN"
        print("torture | \(fault) | \(rounds) | \(injected) | \(checked) | \(result)")
        guard !broken.isEmpty else { return }
        let copy = "/tmp/timerd-torture-\(UUID().uuidString.prefix(8))"
        // try?: a socket cannot be copied, all that matters can; one by one, for it stops at the first.
        let files = FileManager.default
        try? files.createDirectory(atPath: copy, withIntermediateDirectories: false)
        for name in (try? files.contentsOfDirectory(atPath: daemon.folder)) ?? [] {
            try? files.copyItem(atPath: "\(daemon.folder)/\(name)", toPath: "\(copy)/\(name)")
        }
        try? daemon.log.write(toFile: copy + "/log", atomically: true, encoding: .utf8)
        print("torture: the files of '\(fault)' are in \(copy)")
        for problem in broken.prefix(10) {
            Issue.record(
                "\(fault), seed \(seed) (TIMERD_TORTURE_SEED=\(seed) repeats its dice): \(problem)",
                sourceLocation: sourceLocation
            )
        }
    }
}

extension Promises {
    /// What was checked, in numbers.
    var summary: String {
        let state = now
        let refusals = state.refusals.map { "\($0.value.count) \($0.key)" }.sorted()
        let attempts = (try? String(contentsOfFile: attemptsFile, encoding: .utf8)) ?? ""
        let lines = attempts.utf8.count { $0 == 10 }
        return "\(state.answers) answers, \(state.jobs.count) jobs, \(state.told.count) events, "
            + "\(lines) attempts; refused: \(refusals.isEmpty ? "none" : refusals.joined(separator: ", "))"
    }
}

extension DaemonProcess {
    /// Limits that a load reaches, put out of its way.
    static let roomy = [
        "env", "TIMERD_MAX_JOBS_PER_USER=1000000", "TIMERD_RUNS_KEPT=100000", "TIMERD_MAX_RUNS=16",
    ]

    /// Stops in order after all is told, and says what is broken then.
    func settle(_ promises: Promises) async throws -> [String] {
        try await promises.watchToTheEnd(socket)
        let status = await end(SIGTERM)
        var broken = try promises.broken(in: database, stopped: log)
        if status != .exited(0) {
            broken.append("SIGTERM: ended with \(String(describing: status))")
        }
        return broken
    }
}

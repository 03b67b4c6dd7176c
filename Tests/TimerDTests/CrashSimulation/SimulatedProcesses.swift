// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import Runner
@testable import TimerD

/// The processes of a simulated machine that are runs: they end when their time has come, or with the runner.
///
/// Unchecked: the one thread of a simulation is the only one to touch it.
final class SimulatedProcesses: @unchecked Sendable {
    struct Process {
        var pid: Int32
        /// On which host it is.
        var host: Int
        var run: Int64
        var job: JobID
        /// The fire's date, which with the job tells it from others.
        var fireDate: String
        var isOnFailure: Bool
        var endsAt: Timestamp
        var outcome: RunOutcome
        var startedAt: Timestamp
    }

    /// Of those that live, by pid.
    private(set) var living: [Int32: Process] = [:]
    private var lastPID: Int32 = 100

    var firstEnd: Timestamp? { living.values.lazy.map(\.endsAt).min() }

    func start(
        _ run: Int64,
        on host: Int,
        of command: ProcessNames,
        at startedAt: Timestamp,
        endsAt: Timestamp,
        _ outcome: RunOutcome
    ) -> Process {
        lastPID += 1
        let process = Process(
            pid: lastPID,
            host: host,
            run: run,
            job: command.job,
            fireDate: command.fireDate,
            isOnFailure: command.isOnFailure,
            endsAt: endsAt,
            outcome: outcome,
            startedAt: startedAt
        )
        living[lastPID] = process
        return process
    }

    /// A signal: it ends at `date`, if it does not before; `evenLater`: in any case; `withAll`: because all are ended.
    func end(_ pid: Int32, at date: Timestamp, evenLater: Bool = false, withAll: Bool = false) {
        guard let process = living[pid], evenLater || date < process.endsAt else { return }
        living[pid]?.endsAt = date
        // That stays so, whoever ends it besides.
        if process.outcome != .interrupted {
            living[pid]?.outcome = withAll ? .interrupted : .signalled(15)
        }
    }

    /// Ends the processes whose time has come; returns them.
    func endDue(at now: Timestamp) -> [Process] {
        let due = living.values.filter { $0.endsAt <= now }
            .sorted { ($0.endsAt, $0.pid) < ($1.endsAt, $1.pid) }
        for process in due { living[process.pid] = nil }
        return due
    }

    /// The runner of a host dies, and its processes with it, as when the machine is switched off.
    func endAll(on host: Int) { living = living.filter { $0.value.host != host } }
}

/// What a process is of, as its environment says.
struct ProcessNames {
    var job: JobID
    var fire: FireID
    /// By the wall clock: with its job it is what tells a fire from others, whatever number it has.
    var fireDate: String
    var attempt: Int
    var isOnFailure: Bool
    var overlaps: Bool

    init?(_ request: RunRequest) {
        guard let job = request.environment["TIMERD_JOB_ID"].flatMap({ Int64($0) }),
            let fire = request.environment["TIMERD_FIRE_ID"].flatMap({ Int64($0) }),
            let date = request.environment["TIMERD_FIRE_DATE"],
            let attempt = request.environment["TIMERD_ATTEMPT"].flatMap({ Int($0) })
        else { return nil }
        self.job = JobID(rawValue: job)
        self.fire = FireID(rawValue: fire)
        fireDate = date
        self.attempt = attempt
        isOnFailure = request.argv[0] == CrashMix.onFailure
        overlaps = request.argv[0] == CrashMix.overlapping
    }
}

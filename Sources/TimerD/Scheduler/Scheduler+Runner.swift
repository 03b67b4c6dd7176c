// SPDX-License-Identifier: Apache-2.0

import Logging
import Schedules
import TimerControl

/// Whatever minds the runs comes and goes; while it is away, commands wait.
extension Scheduler {
    /// The connection with it has changed, or its room.
    func runnerChanged(_ change: RunnerChange) {
        let isNews = standing.take(change, at: clock.now().wall)
        switch change {
        case .away(let reason):
            log.error(
                "timerd-runner does not answer; commands wait",
                metadata: ["error": "\(reason)"]
            )
        case .replaced(let release):
            log.notice(
                "timerd-runner of another release has no runs, and makes room for one of this release",
                metadata: ["release": "\(release)"]
            )
        case .full:
            if isNews { log.warning("timerd-runner has no room for more runs; commands wait") }
        case .hasRoom: beginAgain()
        case .back(let epoch):
            let pid = runner.known.pid ?? 0
            log.notice("timerd-runner answers again", metadata: ["runner": "\(pid)"])
            // Else the write of recovery comes behind this one, and has the epoch of the one that was attached.
            if isRecovered { storeRunner(epoch) }
        }
    }

    /// Stores which runner is asked for runs from here on, and begins those that wait.
    func storeRunner(_ epoch: Int64) {
        // Before any run is asked for: what it is asked for, it knows from then on.
        record {
            try DaemonState.write(runnerEpoch: epoch, to: $0.database)
        } durable: { scheduler, _ in
            scheduler.standing.stored(epoch)
            scheduler.beginAgain()
        }
    }

    /// What clients are told of whatever minds the runs.
    var runnerStanding: StatusReply.Runner {
        let known = runner.known
        let isAway = standing.away != nil
        return StatusReply.Runner(
            pid: isAway ? nil : known.pid,
            version: isAway ? nil : known.release,
            runs: known.runs.count { $0.value.phase != .ended },
            trouble: standing.trouble,
            troubleSince: standing.since
        )
    }

    /// Commands begin from now on, those that waited first; unless something else is in their way.
    private func beginAgain() {
        guard runnerTrouble == nil else { return }
        goOnAll()
        lookAtNotices()
    }
}

// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerWords

/// Why a live job fires nothing for now, which no row of its fires tells.
extension Job {
    /// The command that ends the maintenance that it is paused for.
    var maintenanceEnd: String { Maintenance.end(of: owner, by: .current) }

    /// "paused; 'timerctl resume 3' arms it"; nil where it is not paused.
    var pause: String? {
        guard state == .paused else { return nil }
        return maintenance
            ? "paused for maintenance; '\(maintenanceEnd)' resumes what that has paused"
            : "paused; 'timerctl resume \(id)' arms it"
    }

    /// `pause`, or "held: its zone 'X' is gone"; nil where it fires, or has ended.
    var standstill: String? {
        guard state.isLive else { return nil }
        return held.map { "held: \($0)" } ?? pause
    }

    /// Why its next date has passed and no row tells of it; nil where it has not, or that is not known.
    func overdueSentence(_ status: StatusReply?, _ dates: LocalDate) -> String? {
        guard state == .scheduled, held == nil, isOverdue(at: dates.now, status),
            let date = nextFire, let why = delay(status, dates)
        else { return nil }
        return "\(title) was due \(dates.distance(date)), and has not fired: \(why)"
    }

    /// `standstill` as a sentence; else why a date that has passed, or the tasks among `runs`, wait, so far as that is known.
    func standstill(of runs: [Run], _ daemon: Daemon, _ dates: LocalDate) async -> String? {
        if let standstill { return "\(title) is \(standstill)" }
        if state == .scheduled, isOverdue(at: dates.now) {
            // try?: the rows are there without it.
            let status = try? await daemon.ask(.status, for: StatusReply.self).value
            if let sentence = overdueSentence(status, dates) { return sentence }
        }
        return await taskWait(of: runs, daemon, dates)
    }

    /// Why the tasks among `runs` wait for a worker, so far as their queue is the reason.
    func taskWait(of runs: [Run], _ daemon: Daemon, _ dates: LocalDate) async -> String? {
        guard let name = definition.queue, runs.contains(where: \.waitsForWorker) else {
            return nil
        }
        // try?: the rows are there without it.
        let queues = try? await daemon.queues(of: owner)
        return wait(of: runs, nil, queues?.first { $0.queue == name }, dates)
    }
}

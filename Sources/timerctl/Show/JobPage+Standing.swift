// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// Where a job stands: its state, what it waits for, when it fires next.
extension JobPage {
    var state: String {
        guard !job.state.isLive else {
            return job.pause ?? job.state.rawValue
        }
        let when = job.endedAt.map { " \(dates.distance($0)), \(dates.full($0))" } ?? ""
        let why = job.endSentence.map { ": \($0)" } ?? ""
        // With its last date a job has ended, whatever its command still does.
        let rest = runs.contains(where: \.isOpen) ? "; its last fire is not over" : ""
        return job.state.rawValue + when + why + rest
    }

    /// Why it is held, and what to do.
    var held: Field? {
        job.held.map {
            Field(
                label: "held",
                value: "\($0); it goes on by itself once that is over; "
                    + "'timerctl invalidate \(job.id)' ends it if it is not wanted any more",
                style: .red
            )
        }
    }

    /// Why a fire that only lacks a place, a worker, or the runner that it was handed to, does not run.
    var waits: Field? {
        job.wait(of: runs, status, queue, dates).map {
            Field(label: "waits", value: $0, style: .yellow)
        }
    }

    var nextFire: Field? {
        guard job.state.isLive, job.held == nil else { return nil }
        guard let date = job.nextFire else {
            let isReboot = job.definition.schedule.cron != nil
            return Field(label: "next fire", value: isReboot ? "when the machine starts" : "none")
        }
        if job.state == .paused {
            return Field(label: "next fire", value: "none while paused; due \(moment(date))")
        }
        let isOverdue = job.isOverdue(at: dates.now, status)
        let moved = job.movedFrom.map { "; moved from \(dates.full($0))" } ?? ""
        let isPast = dates.now - date >= .seconds(1)
        let why = isPast ? job.delay(status, dates).map { "; \($0)" } ?? "" : ""
        return Field(
            label: "next fire",
            value: (isOverdue ? "overdue: \(moment(date))" : moment(date)) + moved + why,
            style: isOverdue ? .red : nil
        )
    }
}

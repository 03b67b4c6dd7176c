// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// Where a job stands: its state, what it waits for, when it fires next.
extension JobPage {
    var state: String {
        guard !job.state.isLive else {
            guard job.state == .paused else { return job.state.rawValue }
            return job.maintenance
                ? "paused for maintenance; 'timerctl maintenance off' resumes what that has paused"
                : "paused; 'timerctl resume \(job.id)' arms it"
        }
        let when = job.endedAt.map { " \(dates.distance($0)), \(dates.full($0))" } ?? ""
        let why = job.endReason.map { ": \(Job.endSentence($0))" } ?? ""
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
        var wait: String?
        if let run = runs.first(where: { $0.state == .waiting && $0.waitsFor == .place }) {
            wait = status?.wait(of: job.definition, run.limit, dates)
        } else if runs.contains(where: isUnheard) {
            wait = status?.runner?.wait(dates, on: status?.node?.name)
        } else if Self.waitsForWorker(runs) {
            wait = queue?.wait
        }
        return wait.map { Field(label: "waits", value: $0, style: .yellow) }
    }

    /// Whether it was handed to the daemon's own runner, which has not said that it has begun, and does not answer now.
    private func isUnheard(_ run: Run) -> Bool {
        run.state == .running && run.startedAt == nil && status?.runner?.pid == nil
            && (run.node == nil || run.node == status?.node?.name)
    }

    /// Whether one of the fires is a task that a worker could take now.
    static func waitsForWorker(_ runs: [Run]) -> Bool {
        runs.contains { $0.state == .queued && $0.nextAttemptAt == nil }
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
        let why = isPast ? delay.map { "; \($0)" } ?? "" : ""
        return Field(
            label: "next fire",
            value: (isOverdue ? "overdue: \(moment(date))" : moment(date)) + moved + why,
            style: isOverdue ? .red : nil
        )
    }

    /// Why a fire whose date has come is not told of, as far as the daemon knows.
    private var delay: String? {
        if let trouble = status?.unwritable {
            return job.isEvent ? "as it was last stored: \(trouble)" : trouble
        }
        guard job.definition.command != nil else { return nil }
        return status?.runner?.wait(dates, on: status?.node?.name)
    }
}

extension Job {
    /// Whether its fires run no command and are no tasks.
    fileprivate var isEvent: Bool { definition.command == nil && definition.queue == nil }

    /// Whether its next date has passed by a second or more: something is wrong then.
    ///
    /// An event is not overdue while the database takes no writes: it fires, and its next date is stored later.
    func isOverdue(at now: Timestamp, _ status: StatusReply? = nil) -> Bool {
        guard let date = nextFire, now - date >= .seconds(1) else { return false }
        return !isEvent || status?.trouble == nil
    }
}

extension TaskQueue {
    /// Why a task that is ready waits, so far as the queue is the reason.
    var wait: String? {
        if paused {
            let command = ShellWords.joined(["timerctl", "queue", "resume", queue])
            return "queue '\(queue)' is paused; '\(command)', by its owner, has it go on"
        }
        if let maxReserved, maxReserved > 0, reserved >= maxReserved {
            let tasks = "\(reserved) tasks of queue '\(queue)'"
            return "workers have \(tasks), whose limit is \(maxReserved)"
        }
        // Workers wait, and tasks are ready.
        guard let maxRate, maxRate != "none", waiting > 0, ready > 0 else { return nil }
        return "queue '\(queue)' hands out \(maxRate) at most"
    }
}

extension Job {
    /// Whether `run`, its newest, had attempts left when the job was ended by hand.
    func hasDroppedAttempts(after run: Run) -> Bool {
        guard state == .invalidated, run.state == .done, !run.isOpen, run.failed == true,
            run.handler == nil, run.stopped != true, run.stoppedBy == nil
        else { return false }
        return (run.attempt ?? 1) <= (definition.retries ?? 0)
    }
}

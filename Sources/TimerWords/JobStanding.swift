// SPDX-License-Identifier: Apache-2.0

public import Schedules
public import TimerControl

/// Why a job's fires do not begin, so far as the daemon tells.
extension Job {
    /// Whether its next date has passed by a second or more: something is wrong then.
    ///
    /// An event is not overdue while the database takes no writes: it fires, and its next date is stored later.
    public func isOverdue(at now: Timestamp, _ status: StatusReply? = nil) -> Bool {
        guard let date = nextFire, now - date >= .seconds(1) else { return false }
        return !definition.isEvent || status?.trouble == nil
    }

    /// Why a fire whose date has come is not told of; nil where that is not known.
    public func delay(_ status: StatusReply?, _ dates: LocalDate) -> String? {
        if let trouble = status?.unwritable {
            return definition.isEvent ? "as it was last stored: \(trouble)" : trouble
        }
        guard definition.command != nil else { return nil }
        return status?.runner?.wait(dates, on: status?.node?.name)
    }

    /// Why a fire that only lacks a place, a worker, or the runner that it was handed to, does not run.
    ///
    /// `queue`: the one that its fires are tasks in; nil where that is not known, or there is none.
    public func wait(
        of runs: [Run],
        _ status: StatusReply?,
        _ queue: TaskQueue?,
        _ dates: LocalDate
    ) -> String? {
        if let run = runs.first(where: { $0.state == .waiting && $0.waitsFor == .place }) {
            return status?.wait(of: definition, run.limit, dates)
        }
        if runs.contains(where: { $0.isUnheard(status) }) {
            return status?.runner?.wait(dates, on: status?.node?.name)
        }
        return runs.contains(where: \.waitsForWorker) ? queue?.wait : nil
    }

    /// Whether `run` had attempts left and none follows, as `kill`, a newer fire or the job's end has dropped them.
    ///
    /// By the `retries` of now: where they were raised since, also of a run that had none left. `runs`: the job's, all
    /// newer ones of the same fire among them. `status`: of the daemon, whose defaults may have its retries.
    public func hasDroppedAttempts(
        after run: Run,
        among runs: [Run],
        _ status: StatusReply?
    ) -> Bool {
        guard run.state == .done, !run.isOpen, run.failed == true, run.handler == nil,
            run.stopped != true, run.stoppedBy == nil
        else { return false }
        // Of a fire that is tried again the next attempt has a row of its own, once it begins.
        let isFollowed = runs.contains {
            $0.fire == run.fire && ($0.state != .done || ($0.attempt ?? 1) > (run.attempt ?? 1))
        }
        return !isFollowed && (run.attempt ?? 1) <= retries(status)
    }

    private func retries(_ status: StatusReply?) -> Int {
        if let retries = definition.retries { return retries }
        guard definition.command != nil, case .integer(let retries)? = status?.defaults?["retries"]
        else { return 0 }
        return Int(clamping: retries)
    }
}

extension Run {
    /// Whether it is a task that a worker could take now.
    public var waitsForWorker: Bool { state == .queued && nextAttemptAt == nil }

    /// Whether it was handed to the daemon's own runner, which has not said that it has begun, and does not answer now.
    fileprivate func isUnheard(_ status: StatusReply?) -> Bool {
        state == .running && startedAt == nil && status?.runner?.pid == nil
            && (node == nil || node == status?.node?.name)
    }
}

extension TaskQueue {
    /// Why a task that is ready waits, so far as the queue is the reason.
    public var wait: String? {
        if paused {
            let command = ShellWords.command(["timerctl", "queue", "resume", queue])
            return "queue '\(queue)' is paused; \(command), by its owner, has it go on"
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

extension StatusReply {
    /// Why a fire of that job which waits for a place has none; `limit`: of that fire.
    public func wait(
        of job: JobDefinition,
        _ limit: Run.PlaceLimit?,
        _ dates: LocalDate
    ) -> String? {
        if let wait = runner?.wait(dates, on: node?.name) { return wait }
        if job.on != nil, let absent = runner?.absentHosts { return absent }
        let runs = running == 1 ? "1 run is" : "\(running) runs are"
        return limit.map { "\(runs) in progress; it waits for \($0.words)" }
    }
}

extension StatusReply.Runner {
    /// Since when and why commands wait; nil while they do not.
    ///
    /// `node`: the name of the node that answers, whose runner it is; others may take the commands. Nil where there is no other.
    public func wait(_ dates: LocalDate, on node: String?) -> String? {
        trouble.map { trouble in
            let what = node.map { "no command begins on '\($0)'" } ?? "commands wait"
            let since = troubleSince.map { " since \(dates.dayAndTime($0))" } ?? ""
            return drains == true ? "\(trouble),\(since)" : "\(what)\(since): \(trouble)"
        }
    }
}

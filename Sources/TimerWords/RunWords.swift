// SPDX-License-Identifier: Apache-2.0

public import Schedules
public import TimerControl

/// What became of a fire, in words; answers "why did it not run?".
public struct RunWords: Sendable {
    public var run: Run
    public var dates: LocalDate
    /// The run in progress that kept a skipped date from firing; nil where that is not known.
    public var besides: RunID?

    public init(_ run: Run, _ dates: LocalDate) { (self.run, self.dates) = (run, dates) }

    /// As one sentence, without a capital and a full stop.
    public var sentence: String {
        if let unread = run.unread { return "unreadable: \(unread)" }
        if run.state == .skipped { return run.outcome == nil ? skipped : "\(ended); \(skipped)" }
        var text = run.handler.map { "\($0.words): \(begin)" } ?? begin
        text += circumstances.map { "; \($0)" }.joined()
        if let next = run.nextAttemptAt {
            text += "; tried again \(dates.distance(next))"
        } else if run.state == .done, let wait = run.waitsFor {
            text += "; next: waiting\(Self.cause(wait, run.limit))"
        }
        return text
    }

    private var begin: String {
        switch run.state {
        case .claimed:
            return run.fireDate > dates.now ? "due \(dates.distance(run.fireDate))" : "starting"
        case .fired: return "fired"
        case .waiting: return "waiting" + Self.cause(run.waitsFor, run.limit)
        // Where the runner hangs it stays so, and what has not begun is not said to run.
        case .running where run.startedAt == nil:
            return "starting: timerd-runner has not said yet that it has begun"
        case .running: return "running" + since(run.startedAt)
        case .queued where run.nextAttemptAt != nil: return ended
        case .queued: return attempted + "waiting for a worker"
        case .reserved where run.outcome == nil: return "with a worker" + since(run.startedAt)
        case .dead:
            return attempted + "dead; 'timerctl queue retry \(run.fire)' has it tried again"
        case .done where isRunGone:
            return "\(run.failed == true ? "failed" : "did not fail"); its run is no longer kept"
        case .done, .reserved, .skipped: return ended
        case .unreadable: return "unreadable"
        }
    }

    /// Whether its command has run, and the record of that is no longer kept.
    public var isRunGone: Bool { run.state == .done && run.id == nil && run.outcome == nil }

    /// How the last attempt at a task has ended, before where the task stands; empty before the first.
    private var attempted: String { run.outcome == nil ? "" : "\(ended); " }

    private var ended: String {
        guard let start = run.startedAt, let end = run.endedAt else { return outcome }
        let verdict = verdict.map { ", \($0)" } ?? ""
        // The clock was set back meanwhile, by more than it took: how long that was is not known.
        guard start <= end else {
            return "\(outcome)\(verdict); by the clock it ended before it began"
        }
        return "\(outcome) after \((end - start).length)\(verdict)"
    }

    /// What its job makes of an exit status that other jobs would take for the contrary; nil where nobody would.
    ///
    /// Of a run that was told to end its status says nothing. What is known from an event alone has no `endedAt`.
    public var verdict: String? {
        guard run.outcome == .exited, let status = run.status, run.endedAt != nil,
            run.stopped != true, run.stoppedBy == nil
        else { return nil }
        return Self.verdict(status, hasFailed: run.failed == true)
    }

    /// What a job makes of an exit status, as `verdict`.
    public static func verdict(_ status: Int32, hasFailed: Bool) -> String? {
        switch (status == 0, hasFailed) {
        case (true, true): return "a failure (success codes)"
        case (false, false): return "no failure (success codes)"
        case (true, false), (false, true): return nil
        }
    }

    private func since(_ start: Timestamp?) -> String {
        start.map { " for \((dates.now - $0).length)" } ?? ""
    }

    /// What it waits for, to follow "waiting": " for its next attempt".
    public static func cause(_ wait: Run.Wait?, _ limit: Run.PlaceLimit? = nil) -> String {
        switch wait {
        case .place: " for \(limit?.words ?? "a place among the runs")"
        case .run: " for the run before it to end"
        case .retry: " for its next attempt"
        case .onFailure: " to tell of the failure"
        case .onSuccess: " to tell of the success"
        case nil: ""
        }
    }

    private var outcome: String {
        Self.outcome(run.outcome, status: run.status, signal: run.signal, error: run.error)
    }

    /// How a command ended: "exit 0", "signal 9 (KILL)", "not started: no such file …".
    public static func outcome(
        _ outcome: Run.Outcome?,
        status: Int32?,
        signal: Int32?,
        error: String?
    ) -> String {
        let reason = error.map { ": \($0)" } ?? ""
        return switch outcome {
        case .exited: "exit \(status ?? 0)"
        case .signalled: "signal \(SignalName.words(signal ?? 0))\(reason)"
        case .notStarted: "not started\(reason)"
        case .timedOut: "timed out"
        case .finished: "finished by its worker"
        case .failed: "failed\(reason)"
        case .released: "given back by its worker"
        case .lost: "lost\(reason)"
        case .interrupted where error != nil: "interrupted\(reason)"
        case .interrupted:
            "interrupted (all runs were ended, timerd-runner died, or its host was gone)"
        case nil: "done"
        }
    }

    /// Why its date was skipped, and how many with it.
    public var skipped: String {
        let reason = run.reason?.sentence(besides: besides) ?? "the reason is not known"
        guard let count = run.dates, count > 1, let last = run.through else {
            return Self.skipped(reason)
        }
        let range =
            "\(count) dates from \(dates.dayAndTime(run.fireDate)) to \(dates.dayAndTime(last))"
        return run.reason == .coalesced
            ? "\(range) missed; one later fire stands for them" : "\(range) \(Self.skipped(reason))"
    }

    /// Why a date was skipped; the sentence of a missed date says "missed" itself.
    public static func skipped(_ reason: String) -> String {
        reason.hasPrefix("missed") ? reason : "skipped: \(reason)"
    }

    /// What was unusual about a fire that took place.
    public var circumstances: [String] {
        var all: [String] = []
        if let stop = run.stoppedBy {
            all.append("told to end by \(stop.words)")
        } else if run.stopped == true {
            all.append("told to end by kill or a newer fire")
        }
        if let left = run.survivors { all.append(Self.survivors(left)) }
        if run.reason == .manual { all.append("by hand") }
        if let attempt = run.attempt, attempt > 1, run.handler == nil {
            all.append("attempt \(attempt)")
        }
        if let missed = run.missed, missed > 0 { all.append(Self.missedDates(missed)) }
        if let late = lateness { all.append("\(late.length) late") }
        return all
    }

    /// How late it began; nil below a second, which is not worth a word.
    public var lateness: TimeSpan? {
        guard run.reason != .manual, let begun else { return nil }
        let lateness = begun - (run.dueBy ?? run.fireDate)
        return lateness >= .seconds(1) ? lateness : nil
    }

    /// When the fire began: with the first attempt at its command, whose start may take long; a task as it was queued.
    private var begun: Timestamp? {
        run.attempt == 1 && !isOfTask
            ? run.startedAt ?? run.firedAt : run.firedAt ?? run.startedAt
    }

    /// Whether a worker has it, had it, or is to have it.
    private var isOfTask: Bool {
        switch (run.state, run.outcome) {
        case (.queued, _), (.reserved, _), (.dead, _): true
        case (_, .finished), (_, .failed), (_, .released), (_, .lost): true
        default: false
        }
    }

    /// "1 process of its group could not be ended".
    public static func survivors(_ count: Int) -> String {
        "\(count) \(count == 1 ? "process" : "processes") of its group could not be ended"
    }

    /// "makes up for 239 missed dates", its own among them where that was missed.
    ///
    /// Of one it is not said whether that is its own, as of each fire of `misfire` `all`, or the one before it.
    public static func missedDates(_ count: Int) -> String {
        count == 1 ? "makes up for a missed date" : "makes up for \(count) missed dates"
    }
}

extension Run.PlaceLimit {
    /// What a fire waits for: "one of 4 places (maxRunsPerUser)".
    public var words: String {
        let whose = late == true ? " of late fires" : ""
        let kept = keptForRoot.map { "; \($0) more \($0 == 1 ? "is" : "are") root's alone" } ?? ""
        return places == 1
            ? "the one place\(whose) (\(setting.rawValue)\(kept))"
            : "one of \(places) places\(whose) (\(setting.rawValue)\(kept))"
    }
}

extension RunStop {
    /// Who told a run to end, and how: "its owner (kill)".
    public var words: String {
        switch self {
        case .owner: "its owner (kill)"
        case .administrator: "an administrator (kill)"
        case .invalidate: "whoever ended its job (invalidate)"
        case .replace: "a newer fire (overlap 'replace')"
        }
    }
}

extension RunHandler {
    public var words: String {
        switch self {
        case .onFailure: "on failure"
        case .onSuccess: "on success"
        }
    }
}

extension Run {
    /// Which handler of its job it ran; nil for the job's own command.
    public var handlerWords: String? { handler?.words }
}

extension Run {
    /// Whether something of its fire is still to come: its command waits or runs, or is tried again.
    public var isOpen: Bool {
        switch state {
        case .waiting, .running, .queued, .reserved: true
        case .done: nextAttemptAt != nil || waitsFor != nil
        case .claimed, .fired, .skipped, .dead, .unreadable: false
        }
    }
}

extension Run {
    /// How it has ended, in a word or two: "exit 1", "signal 9", "given back".
    public var outcomeWords: String {
        switch outcome {
        case .exited: "exit \(status ?? 0)"
        case .signalled: "signal \(signal ?? 0)"
        case .timedOut: "timed out"
        case .notStarted: "not started"
        case .interrupted: "interrupted"
        case .finished: "finished"
        case .failed: "failed"
        case .released: "given back"
        case .lost: "lost"
        case nil: failed == true ? "failed" : "done"
        }
    }
}

extension Run {
    /// Whether it has ended, and its fire waits for the next attempt, which `run.kill` drops.
    public var isTriedAgain: Bool {
        switch waitsFor {
        case .place, .run, .retry: state == .done
        case .onFailure, .onSuccess, nil: false
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What became of a fire, in words; answers "why did it not run?".
struct RunSentence {
    var text: String
    /// Red for what went wrong, yellow for what did not take place.
    var style: Terminal.Style?

    init(_ run: Run, dates: LocalDate) {
        if let unread = run.unread {
            text = "unreadable: \(unread)"
            style = .red
            return
        }
        switch run.state {
        case .claimed:
            text = run.fireDate > dates.now ? "due \(dates.distance(run.fireDate))" : "starting"
        case .fired:
            text = "fired"
        case .waiting:
            text = "waiting" + Self.cause(run.waitsFor)
        case .running:
            text = "running"
            if let start = run.startedAt {
                text += " for \(RelativeTime.length(dates.now - start))"
            }
        case .queued:
            text = "waiting for a worker"
        case .reserved:
            text =
                run.outcome == nil
                ? "with a worker"
                : Self.outcome(
                    run.outcome,
                    status: nil,
                    signal: nil,
                    error: run.error
                )
            if run.outcome == nil, let start = run.startedAt {
                text += " for \(RelativeTime.length(dates.now - start))"
            }
        case .dead:
            text = "dead; 'timerctl queue retry \(run.fire)' has it tried again"
            style = .red
        case .done:
            text = Self.outcome(
                run.outcome,
                status: run.status,
                signal: run.signal,
                error: run.error
            )
            if let start = run.startedAt, let end = run.endedAt {
                text += " after \(RelativeTime.length(end - start))"
            }
            if run.failed == true { style = .red }
        case .skipped:
            text = Self.skipped(run, dates)
            style = .yellow
            return
        case .unreadable:
            text = "unreadable"
            style = .red
        }
        if let handler = run.handler { text = "\(handler.words): \(text)" }
        text += Self.circumstances(run).map { "; \($0)" }.joined()
        if let next = run.nextAttemptAt {
            text += "; tried again \(dates.distance(next))"
        } else if run.state == .done, let wait = run.waitsFor {
            text += "; next: waiting\(Self.cause(wait))"
        }
    }

    private static func cause(_ wait: Run.Wait?) -> String {
        switch wait {
        case .place: " for a place among the runs"
        case .run: " for the run before it to end"
        case .retry: " for its next attempt"
        case .onFailure: " to tell of the failure"
        case .onSuccess: " to tell of the success"
        case nil: ""
        }
    }

    /// How a command ended: "exit 0", "signal 9 (KILL)", "not started: no such file …".
    static func outcome(
        _ outcome: Run.Outcome?,
        status: Int32?,
        signal: Int32?,
        error: String?
    ) -> String {
        switch outcome {
        case .exited: "exit \(status ?? 0)"
        case .signalled: "signal \(SignalName.words(signal ?? 0))" + (error.map { ": \($0)" } ?? "")
        case .notStarted: "not started" + (error.map { ": \($0)" } ?? "")
        case .timedOut: "timed out"
        case .finished: "finished by its worker"
        case .failed: "failed" + (error.map { ": \($0)" } ?? "")
        case .released: "given back by its worker"
        case .lost: "lost" + (error.map { ": \($0)" } ?? "")
        case .interrupted: "interrupted: all runs were ended, or timerd-runner died"
        case nil: "done"
        }
    }

    /// Why a date was skipped; the sentence of a missed date says "missed" itself.
    static func skipped(_ reason: String) -> String {
        reason.hasPrefix("missed") ? reason : "skipped: \(reason)"
    }

    private static func skipped(_ run: Run, _ dates: LocalDate) -> String {
        let reason = run.reason?.sentence ?? "the reason is not known"
        guard let count = run.dates, count > 1, let last = run.through else {
            return skipped(reason)
        }
        let range =
            "\(count) dates from \(dates.dayAndTime(run.fireDate)) to \(dates.dayAndTime(last))"
        return run.reason == .coalesced
            ? "\(range) missed; one later fire stands for them" : "\(range) \(skipped(reason))"
    }

    /// What was unusual about a fire that took place.
    private static func circumstances(_ run: Run) -> [String] {
        var all: [String] = []
        if let left = run.survivors.map(survivors) { all.append(left) }
        if run.reason == .manual { all.append("by hand") }
        if let attempt = run.attempt, attempt > 1, run.handler == nil {
            all.append("attempt \(attempt)")
        }
        if let missed = run.missed, missed > 0 { all.append(missedDates(missed)) }
        // Only a second or more is worth a word here; `--json` has the exact dates.
        if run.reason != .manual, let begun = run.firedAt ?? run.startedAt {
            let lateness = begun - run.fireDate
            if lateness >= .seconds(1) { all.append("\(RelativeTime.length(lateness)) late") }
        }
        return all
    }

    /// "1 process of its group could not be ended".
    static func survivors(_ count: Int) -> String {
        "\(count) \(count == 1 ? "process" : "processes") of its group could not be ended"
    }

    /// "for 239 missed dates too".
    static func missedDates(_ count: Int) -> String {
        "for \(count) missed \(count == 1 ? "date" : "dates") too"
    }
}

extension RunHandler {
    var words: String {
        switch self {
        case .onFailure: "on failure"
        case .onSuccess: "on success"
        }
    }
}

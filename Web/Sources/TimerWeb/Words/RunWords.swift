// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What became of a fire, in the words of timerctl; answers "why did it not run?".
struct RunWords {
    var run: Run
    var dates: Dates

    init(_ run: Run, _ dates: Dates) { (self.run, self.dates) = (run, dates) }

    /// In a word or two: "ok", "exit 1", "missed", "running".
    var state: StateWord {
        if run.unread != nil { return StateWord("unreadable", .failed) }
        return switch run.state {
        case .claimed: StateWord(run.fireDate > dates.now ? "due" : "starting", .waiting)
        case .fired: StateWord("event", .event)
        case .waiting: StateWord("waiting", .waiting)
        case .running: StateWord("running", .running)
        case .queued: StateWord("queued", .queued)
        case .reserved: StateWord("with a worker", .running)
        case .dead: StateWord("dead", .dead)
        case .skipped:
            Self.isMissed(run.reason)
                ? StateWord("missed", .missed) : StateWord("skipped", .skipped)
        case .unreadable: StateWord("unreadable", .failed)
        case .done:
            StateWord(
                end,
                run.failed == true ? .failed : run.outcome == .interrupted ? .warning : .ok
            )
        }
    }

    private var end: String {
        switch run.outcome {
        case .exited where run.failed != true && (run.status ?? 0) == 0: "ok"
        case .exited: "exit \(run.status ?? 0)"
        case .signalled: "signal \(run.signal ?? 0)"
        case .timedOut: "timed out"
        case .notStarted: "not started"
        case .interrupted: "interrupted"
        case .finished: "ok"
        case .failed: "failed"
        case .released: "given back"
        case .lost: "lost"
        case nil: "done"
        }
    }

    /// As one sentence, without a capital and a full stop.
    var sentence: String {
        if let unread = run.unread { return "unreadable: \(unread)" }
        if run.state == .skipped { return skipped }
        var text = run.handlerWords.map { "\($0): \(begin)" } ?? begin
        text += circumstances.map { "; \($0)" }.joined()
        if let next = run.nextAttemptAt {
            text += "; tried again \(dates.distance(next))"
        } else if run.state == .done, let wait = run.waitsFor {
            text += "; next: waiting\(Self.cause(wait))"
        }
        return text
    }

    private var begin: String {
        switch run.state {
        case .claimed:
            return run.fireDate > dates.now ? "due \(dates.distance(run.fireDate))" : "starting"
        case .fired: return "fired"
        case .waiting: return "waiting" + Self.cause(run.waitsFor)
        case .running: return "running" + since(run.startedAt)
        case .queued: return "waiting for a worker"
        case .reserved where run.outcome == nil: return "with a worker" + since(run.startedAt)
        case .dead: return "dead: it has failed for good; retry has it tried again"
        case .done:
            guard let start = run.startedAt, let end = run.endedAt else { return outcome }
            return "\(outcome) after \((end - start).length)"
        case .reserved, .skipped: return outcome
        case .unreadable: return "unreadable"
        }
    }

    private func since(_ start: Timestamp?) -> String {
        start.map { " for \((dates.now - $0).length)" } ?? ""
    }

    fileprivate static func cause(_ wait: Run.Wait?) -> String {
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
    private var outcome: String {
        let error = run.error.map { ": \($0)" } ?? ""
        return switch run.outcome {
        case .exited: "exit \(run.status ?? 0)"
        case .signalled: "signal \(SignalName.words(run.signal ?? 0))\(error)"
        case .notStarted: "not started\(error)"
        case .timedOut: "timed out"
        case .finished: "finished by its worker"
        case .failed: "failed\(error)"
        case .released: "given back by its worker"
        case .lost: "lost\(error)"
        case .interrupted: "interrupted: all runs were ended, or timerd-runner died"
        case nil: "done"
        }
    }

    fileprivate var skipped: String {
        let reason = run.reason?.sentence ?? "the reason is not known"
        let sentence = reason.hasPrefix("missed") ? reason : "skipped: \(reason)"
        guard let count = run.dates, count > 1, let last = run.through else { return sentence }
        let range =
            "\(count) dates from \(dates.dayAndTime(run.fireDate)) to \(dates.dayAndTime(last))"
        return run.reason == .coalesced
            ? "\(range) missed; one later fire stands for them" : "\(range) \(sentence)"
    }

    /// What was unusual about a fire that took place.
    fileprivate var circumstances: [String] {
        var all: [String] = []
        if let left = run.survivors {
            all.append(
                "\(left) \(left == 1 ? "process" : "processes") of its group could not be ended"
            )
        }
        if run.reason == .manual { all.append("by hand") }
        if let attempt = run.attempt, attempt > 1, run.handlerWords == nil {
            all.append("attempt \(attempt)")
        }
        if let missed = run.missed, missed > 0 {
            all.append("for \(missed) missed \(missed == 1 ? "date" : "dates") too")
        }
        if let late = lateness { all.append("\(late.length) late") }
        return all
    }

    /// How late it began, from a second on.
    var lateness: TimeSpan? {
        guard run.reason != .manual, let begun = run.firedAt ?? run.startedAt else { return nil }
        let lateness = begun - run.fireDate
        return lateness >= .seconds(1) ? lateness : nil
    }

    /// Whether the date was missed, and not skipped because a user wanted that.
    static func isMissed(_ reason: FireReason?) -> Bool {
        switch reason {
        case .misfire, .coalesced, .misfireLimit, .misfireWindow, .clockStepped, .overload, .held:
            true
        default: false
        }
    }
}

extension Run {
    /// Which handler of its job it ran; nil for the job's own command.
    var handlerWords: String? {
        if onFailure == true { return "on failure" }
        return onSuccess == true ? "on success" : nil
    }

    /// How long it took, or has taken up to now.
    func duration(_ now: Timestamp) -> TimeSpan? {
        guard let startedAt else { return nil }
        if let endedAt { return endedAt - startedAt }
        return state == .running || state == .reserved ? now - startedAt : nil
    }
}

extension RunWords {
    /// What of it goes on: "for 12 min", "waits for a place among the runs".
    var progress: String {
        switch run.state {
        case .running: run.startedAt.map { "for \((dates.now - $0).roughly)" } ?? "running"
        case .waiting:
            switch run.waitsFor {
            case .place: "waits for a place"
            case .run: "waits for the run before it"
            case .retry: "waits for its next attempt"
            case .onFailure, .onSuccess: "waits to tell of it"
            case nil: "waits"
            }
        case .queued: "waits for a worker"
        default: state.word
        }
    }
}

extension RunWords {
    /// What its state and its times do not tell; empty for nothing.
    var why: String {
        if let unread = run.unread { return unread }
        if run.state == .skipped { return skipped }
        var all: [String] = []
        if let handler = run.handlerWords { all.append("\(handler) command") }
        if let error = run.error { all.append(error) }
        if run.state == .waiting { all.append("waiting" + Self.cause(run.waitsFor)) }
        if run.outcome == .interrupted { all.append("all runs were ended, or timerd-runner died") }
        all += circumstances
        if let next = run.nextAttemptAt {
            all.append("tried again \(dates.distance(next))")
        } else if run.state == .done, let wait = run.waitsFor {
            all.append("next: waiting\(Self.cause(wait))")
        }
        return all.joined(separator: "; ")
    }
}

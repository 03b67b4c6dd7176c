// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// What became of a fire, as a page shows it.
extension RunWords {
    /// In a word or two: "ok", "exit 1", "missed", "starting", "running".
    var state: StateWord {
        if run.unread != nil { return StateWord("unreadable", .failed) }
        return switch run.state {
        case .claimed: StateWord(run.fireDate > dates.now ? "due" : "starting", .waiting)
        case .fired: StateWord("event", .event)
        case .waiting: StateWord("waiting", .waiting)
        // What the runner has not told of has not begun, as far as is known.
        case .running where run.startedAt == nil: StateWord("starting", .waiting)
        case .running: StateWord("running", .running)
        case .queued: StateWord("queued", .queued)
        case .reserved: StateWord("with a worker", .running)
        case .dead: StateWord("dead", .dead)
        case .skipped:
            run.reason?.isMissed == true
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
        case .finished: "ok"
        default: run.outcomeWords
        }
    }
}

extension Run {
    /// How long it took, or has taken up to now; nil also where the clock was set back meanwhile, by more than it took.
    func duration(_ now: Timestamp) -> TimeSpan? {
        guard let startedAt else { return nil }
        if let endedAt { return startedAt <= endedAt ? endedAt - startedAt : nil }
        return state == .running || state == .reserved ? now - startedAt : nil
    }
}

extension RunWords {
    /// What of it goes on: "for 12 min", "waits for a place", "exit 1, waits for its next attempt".
    var progress: String {
        switch run.state {
        case .running: run.startedAt.map { "for \((dates.now - $0).roughly)" } ?? "starting"
        case .waiting: waits ?? "waits"
        case .queued: "waits for a worker"
        // The last run of a fire that is not over says what the next one waits for.
        default: [state.word, waits].compactMap(\.self).joined(separator: ", ")
        }
    }

    private var waits: String? {
        switch run.waitsFor {
        case .place: "waits for \(run.limit?.words ?? "a place")"
        case .run: "waits for the run before it"
        case .retry: "waits for its next attempt"
        case .onFailure, .onSuccess: "waits to tell of it"
        case nil: nil
        }
    }
}

extension RunWords {
    /// What its state and its times do not tell; empty for nothing.
    var why: String {
        if let unread = run.unread { return unread }
        // A task that had failed before it was dropped has both.
        if run.state == .skipped { return run.outcome == nil ? skipped : sentence }
        var all: [String] = []
        if let handler = run.handlerWords { all.append("\(handler) command") }
        if let error = run.error { all.append(error) }
        if run.state == .done, let verdict { all.append(verdict) }
        if isRunGone { all.append("its run is no longer kept") }
        if run.state == .waiting { all.append("waiting" + cause(of: run.waitsFor)) }
        if run.outcome == .interrupted, run.error == nil {
            all.append("all runs were ended, timerd-runner died, or its host was gone")
        }
        all += circumstances
        if let next = run.nextAttemptAt {
            all.append("tried again \(dates.distance(next))")
        } else if run.state == .done, let wait = run.waitsFor {
            all.append("next: waiting\(cause(of: wait))")
        }
        return all.joined(separator: "; ")
    }

    private func cause(of wait: Run.Wait?) -> String { RunWords.cause(wait, run.limit) }
}

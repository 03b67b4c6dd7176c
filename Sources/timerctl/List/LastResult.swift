// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// What became of a job's last date, in a word or two, and when: for a column of a list.
struct LastResult {
    /// "ok", "exit 1", "signal 9", "missed", "starting", "running".
    var word: String
    /// When that was; nil while it goes on.
    var date: Timestamp?
    /// As of `RunSentence`.
    var style: Terminal.Style?

    init(_ run: Run) {
        date = run.endedAt ?? run.firedAt ?? run.through ?? run.fireDate
        switch run.state {
        case .claimed, .waiting, .queued:
            word = run.limit.map { "waiting (\($0.setting.rawValue))" } ?? "waiting"
            date = nil
        case .dead:
            word = "dead"
            style = .red
        case .running, .reserved:
            word = run.state == .running && run.startedAt == nil ? "starting" : "running"
            date = nil
        case .fired: word = "fired"
        case .skipped:
            word = run.reason?.isMissed == true ? "missed" : "skipped"
            style = .yellow
        case .unreadable:
            word = "unreadable"
            style = .red
        case .done where run.unread != nil:
            word = "unreadable"
            style = .red
        case .done:
            word = Self.isSuccess(run) ? "ok" : run.outcomeWords
            style = run.failed == true ? .red : nil
        }
    }

    /// "ok 3 s ago".
    func text(_ dates: LocalDate) -> String {
        date.map { "\(word) \(dates.distance($0))" } ?? word
    }

    /// Whether a run did what it was to do: its worker has done the task, or it ended with an exit status that its job
    /// counted as a success then.
    static func isSuccess(_ run: Run) -> Bool { RunWord.success.isOf(run) }
}

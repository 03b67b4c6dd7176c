// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// How a run ended, for the record.
struct EndedRun: Sendable {
    var fire: FireID
    /// The fire's date by the wall clock.
    var fireDate: Timestamp
    var attempt: Int
    /// Whether it ran the job's `onFailure` command.
    var isOnFailure = false
    var outcome: RunOutcome
    /// Nil where no process was started.
    var startedAt: Timestamp?
    var endedAt: Timestamp
    var output: CapturedOutput
    /// Nil if no process was started, or if its end was not seen.
    var usage: RunUsage?
    /// The processes of its group that could not be ended.
    var survivors: [Int32] = []
}

extension RunOutcome {
    /// Whether there ever was a process.
    var wasStarted: Bool {
        if case .notStarted = self { false } else { true }
    }

    /// As table `runs` stores it: the word, the exit status or signal, and why it did not start.
    var columns: (outcome: Run.Outcome, code: Int32?, error: String?) {
        switch self {
        case .exited(let status): (.exited, status, nil)
        case .signalled(let signal): (.signalled, signal, nil)
        case .timedOut: (.timedOut, nil, nil)
        case .notStarted(let text): (.notStarted, nil, text)
        case .interrupted: (.interrupted, nil, nil)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import TimerControl

extension RunOutcome {
    /// How a run has ended; nil for one that has not.
    init?(of run: Run) {
        switch run.outcome {
        case .exited: self = .exited(run.status ?? 0)
        case .signalled: self = run.error.map(Self.outOfMemory) ?? .signalled(run.signal ?? 0)
        case .timedOut: self = .timedOut
        case .notStarted: self = .notStarted(run.error ?? "")
        case .interrupted: self = .interrupted
        case .finished: self = .finished
        case .failed: self = .failed(run.error)
        case .released: self = .released
        case .lost: self = .lost(run.error ?? "")
        case nil: return nil
        }
    }

    /// As table `runs` stores it: the word, the exit status or signal, and why it did not start or was killed.
    var columns: (outcome: Run.Outcome, code: Int32?, error: String?) {
        switch self {
        case .exited(let status): (.exited, status, nil)
        case .signalled(let signal): (.signalled, signal, nil)
        case .outOfMemory(let text): (.signalled, 9, text)
        case .timedOut: (.timedOut, nil, nil)
        case .notStarted(let text): (.notStarted, nil, text)
        case .interrupted: (.interrupted, nil, nil)
        case .finished: (.finished, nil, nil)
        case .failed(let text): (.failed, nil, text)
        case .released: (.released, nil, nil)
        case .lost(let text): (.lost, nil, text)
        }
    }
}

extension EndedRun {
    /// Why it ended so, as column `error` has it and events tell it; nil where the outcome says enough.
    var error: String? { outcome.columns.error ?? reason }
}

// SPDX-License-Identifier: Apache-2.0

import Schedules
public import TimerControl

/// Which run in progress kept each skipped date of a list from firing, so far as the list has that run.
///
/// A row of a skipped date does not say it; the run's own row says when it was in progress.
public struct RunsInTheWay: Sendable {
    private var found: [FireID: RunID] = [:]

    /// `runs`: the newest first, as `run.list` answers.
    public init(_ runs: [Run]) {
        var last: [JobID: Run] = [:]
        for run in runs.reversed() {
            if run.state == .skipped {
                if let before = last[run.job], before.wasInProgress(at: run) {
                    found[run.fire] = before.id
                }
            } else if run.id != nil, run.handler == nil {
                last[run.job] = run
            }
        }
    }

    public subscript(skipped: Run) -> RunID? { found[skipped.fire] }
}

extension Run {
    fileprivate func wasInProgress(at skipped: Run) -> Bool {
        guard let startedAt, startedAt <= skipped.fireDate else { return false }
        return endedAt.map { $0 >= skipped.fireDate } ?? (state == .running)
    }
}

// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// How writing goes, for the daemon's status and metrics.
struct WriteStatistics: Sendable {
    /// Transactions that changed something, since the start.
    private(set) var commits = 0
    /// Commands and records in them.
    private(set) var writes = 0
    /// How long each commit took.
    private(set) var commitTimes = Histogram(bounds: [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5,
    ])
    /// Records that are kept because they could not be stored yet.
    private(set) var keptRecords = 0
    /// Why a batch could not be stored; nil again once a change and all kept records have been stored.
    private(set) var trouble: DatabaseError?

    /// A change from good to bad, or back.
    enum Turn: Sendable {
        case trouble(DatabaseError)
        case recovery
    }

    /// Notes the end of a batch of `writes`; `duration` is nil if it changed nothing.
    mutating func note(
        writes: Int,
        committedIn duration: Duration?,
        kept: Int,
        error: DatabaseError?
    ) -> Turn? {
        keptRecords = kept
        if let duration {
            commits += 1
            self.writes += writes
            commitTimes.observe(TimeSpan(duration))
        }
        let wasInTrouble = trouble != nil
        if let error {
            trouble = error
            return wasInTrouble ? nil : .trouble(error)
        }
        guard wasInTrouble, duration != nil, kept == 0 else { return nil }
        trouble = nil
        return .recovery
    }
}

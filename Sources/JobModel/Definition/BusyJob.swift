// SPDX-License-Identifier: Apache-2.0

/// A job with a fire in progress.
package struct BusyJob: Hashable, Sendable {
    /// Nil while its command waits for a place or its next attempt, or has not begun.
    package var run: RunID?
    /// Whether a command runs, or waits for anything but the end of a run.
    package var isInProgress = false
    /// Whether another fire waits for its end.
    package var isQueued: Bool

    /// Whether a fire by hand waits for what is in progress, by the job's overlap policy.
    ///
    /// - Throws: why not, if the fire would be skipped: its user wants to know that.
    package func mustWait(_ job: StoredJob) throws(OverlapRefusal) -> Bool {
        let what =
            run.map { "is running (run \($0))" }
            ?? "waits for a place, for its start, or for its next attempt"
        switch job.policy.run.overlap {
        case .allow: return false
        case .replace: return true
        case .queue where !isQueued: return true
        case .queue:
            throw OverlapRefusal(
                message: "job \(job.id) \(what), and one fire waits for that already"
            )
        case .skip:
            throw OverlapRefusal(message: "job \(job.id) \(what); its runs do not overlap")
        }
    }

    package init(
        run: RunID? = nil,
        isInProgress: Bool = false,
        isQueued: Bool
    ) {
        self.run = run
        self.isInProgress = isInProgress
        self.isQueued = isQueued
    }
}

/// Why a fire by hand would not begin, in a sentence.
package struct OverlapRefusal: Error, Hashable, Sendable {
    package var message: String
}

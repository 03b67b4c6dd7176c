// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// How a run ended, for the record.
package struct EndedRun: Sendable {
    package var fire: FireID
    /// The fire's date by the wall clock.
    package var fireDate: Timestamp
    package var attempt: Int
    /// Which handler of the job it ran; nil for the job's own command.
    package var handler: RunHandler?
    /// Whether somebody ended it on purpose: that is no failure to tell of.
    package var isStopped = false
    /// Who did; nil where that is not known any more.
    package var stoppedBy: RunStop?
    package var outcome: RunOutcome
    /// What the outcome does not say of why it ended so; nil for nothing.
    package var reason: String?
    /// Nil where no process was started.
    package var startedAt: Timestamp?
    package var endedAt: Timestamp
    package var output: CapturedOutput
    /// Whether that is stored already, as it was much.
    package var isOutputStored = false
    /// Nil if no process was started, or if its end was not seen.
    package var usage: RunUsage?
    /// The processes of its group that could not be ended.
    package var survivors: [Int32] = []

    package init(
        fire: FireID,
        fireDate: Timestamp,
        attempt: Int,
        handler: RunHandler? = nil,
        outcome: RunOutcome,
        startedAt: Timestamp? = nil,
        endedAt: Timestamp,
        output: CapturedOutput,
        usage: RunUsage? = nil,
        survivors: [Int32] = []
    ) {
        self.fire = fire
        self.fireDate = fireDate
        self.attempt = attempt
        self.handler = handler
        self.outcome = outcome
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.output = output
        self.usage = usage
        self.survivors = survivors
    }
}

extension EndedRun {
    /// Whether anything may follow it: it was not ended on purpose, has begun, and is no handler's.
    package var isFollowed: Bool { !isStopped && handler == nil && outcome != .withdrawn }
}

extension RunOutcome {
    /// Whether there ever was a process.
    package var wasStarted: Bool {
        if case .notStarted = self { false } else { true }
    }
}

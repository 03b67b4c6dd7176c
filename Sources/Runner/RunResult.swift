// SPDX-License-Identifier: Apache-2.0

package import JobModel

/// What is known of a run once it has ended.
package struct RunResult: Sendable {
    package var outcome: RunOutcome
    /// µs since 1970 on the wall clock: just after the process began to exist; nil where it is not known that there was one.
    package var startedAtMicroseconds: Int64?
    /// µs since 1970 on the wall clock: when the run's own process ended, not what it left behind.
    package var endedAtMicroseconds: Int64
    package var output: CapturedOutput
    /// What it used, with the children it waited for; nil if there was no process.
    package var usage: RunUsage?
    /// The processes of its group that could not be ended: another user's, or in uninterruptible sleep.
    package var survivors: [Int32] = []
    /// What the refusal is about, of a command that was not started for that.
    package var refused: StartRefusal.Subject?
}

extension RunResult {
    /// There was no process, for that reason; the date in µs since 1970.
    package static func notStarted(_ refusal: StartRefusal, at date: Int64) -> Self {
        Self(
            outcome: .notStarted(refusal.message),
            endedAtMicroseconds: date,
            output: CapturedOutput(),
            refused: refusal.subject
        )
    }
}

// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// Which records of fires wait for others, so that one commit serves them all; pure.
///
/// The claim of a fire is on disk before its date. Its record is a mark, without which a crash would have the
/// event told again, and the claim of the next date that has none.
package enum SharedCommit {
    /// How long such a record waits.
    package static let delay = Duration.milliseconds(50)
    /// How long the record of a command's start waits: many a command has ended by then.
    package static let startDelay = Duration.milliseconds(5)
    /// How far the next date without a claim must lie ahead: the commit must be over long before it.
    package static let room = TimeSpan.milliseconds(250)

    /// How long the record of the job's fire waits that begins at `moment`.
    ///
    /// `isCrowded`: whether something waits for this record.
    package static func delay(of job: StoredJob, isCrowded: Bool, at moment: ClockReading)
        -> Duration
    {
        guard !isCrowded, let last = job.ahead?.last?.date ?? job.fireDate else { return .zero }
        let fires = job.fires + 1 + (job.ahead?.count ?? 0)
        guard case .date(let next) = job.next(after: last, fires: fires, at: moment) else {
            return delay
        }
        return next - moment.reading(of: job.clock) >= room ? delay : .zero
    }
}

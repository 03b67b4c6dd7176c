// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What follows a run that has ended; pure.
enum RetryDecision: Hashable, Sendable {
    case done
    /// The same fire's next attempt.
    case retry(after: TimeSpan)
    /// The fire has failed for good.
    case onFailure

    /// Decides by how the run ended and what its job wants.
    ///
    /// `attempt`: its number, from 1. A run that the daemon's end interrupted is run again where the job
    /// says so; else it has failed as any other.
    init(_ outcome: RunOutcome, attempt: Int, of fire: FireID, job: StoredJob) {
        let policy = job.policy.run
        let mayRetry = attempt <= policy.retries
        switch outcome {
        case _ where policy.isSuccess(outcome): self = .done
        case .interrupted where job.definition.rerunInterrupted == true:
            self = .retry(after: .zero)
        case .exited, .signalled, .timedOut, .notStarted, .interrupted:
            if mayRetry {
                self = .retry(after: Self.delay(before: attempt + 1, of: fire, policy))
            } else if job.definition.onFailure != nil {
                self = .onFailure
            } else {
                self = .done
            }
        }
    }

    /// Exponential backoff with full jitter: anything from nothing to the doubled bound, by chance,
    /// so that jobs that failed together do not come back together.
    ///
    /// Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015. The chance is the
    /// fire's and the attempt's, the same after a restart.
    static func delay(before attempt: Int, of fire: FireID, _ policy: RunPolicy) -> TimeSpan {
        let backoff = policy.backoff ?? .standard
        let (first, longest) = (backoff.first.microseconds, backoff.max.microseconds)
        let doublings = max(0, min(attempt - 2, 62))
        let (doubled, overflows) = first.multipliedReportingOverflow(by: Int64(1) << doublings)
        let bound = overflows ? longest : min(doubled, longest)
        return Jitter.offset(
            job: fire.rawValue,
            fireDate: Timestamp(microseconds: Int64(attempt)),
            within: TimeSpan(microseconds: bound)
        )
    }
}

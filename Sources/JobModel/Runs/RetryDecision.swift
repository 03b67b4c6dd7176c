// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// What follows a run that has ended; pure.
package enum RetryDecision: Hashable, Sendable {
    case done
    /// The same fire's next attempt.
    case retry(after: TimeSpan)
    /// The fire is over, and its job has a command for that.
    case handle(RunHandler)

    /// Decides by how the run ended and what its job wants.
    ///
    /// `failures`: how many attempts of the fire have failed, if this one has. A run that was interrupted is run again
    /// if the job says so, which takes none of its retries; else it counts as failed. `defaults` count where the job
    /// says nothing. `mayBegin`: whether the fire may have another attempt at all.
    package init(
        _ outcome: RunOutcome,
        failures: Int,
        of fire: FireID,
        job: StoredJob,
        defaults: RunDefaults = RunDefaults(),
        mayBegin: Bool = true
    ) {
        let mayRetry = mayBegin && failures <= defaults.retries(of: job)
        func handle(_ handler: RunHandler) -> Self {
            defaults.command(of: handler, for: job.definition) == nil ? .done : .handle(handler)
        }
        switch outcome {
        case _ where job.policy.run.isSuccess(outcome): self = handle(.onSuccess)
        case .interrupted where mayBegin && job.definition.rerunInterrupted == true:
            self = .retry(after: .zero)
        // What follows an attempt at a task is decided where that is stored: in the transactions of queues.
        case .failed, .released, .lost, .finished: self = .done
        case .exited, .signalled, .outOfMemory, .timedOut, .notStarted, .interrupted:
            let backoff = defaults.backoff(of: job)
            self =
                mayRetry
                ? .retry(after: Self.delay(before: failures + 1, of: fire, backoff))
                : handle(.onFailure)
        }
    }

    /// What follows a run by its record: nothing follows one that was ended on purpose or never began, nor a handler's.
    package init(
        after ended: EndedRun,
        failures: Int,
        job: StoredJob,
        defaults: RunDefaults,
        mayBegin: Bool = true
    ) {
        self =
            ended.isFollowed
            ? Self(
                ended.outcome,
                failures: failures,
                of: ended.fire,
                job: job,
                defaults: defaults,
                mayBegin: mayBegin
            ) : .done
    }

    /// Exponential backoff with full jitter: a random delay from zero to the doubled bound.
    ///
    /// So jobs that failed together are not retried together. `attempt`: by its number where each before it has failed.
    ///
    /// Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015. The random number follows from
    /// the fire and the attempt, so it is the same after a restart.
    package static func delay(before attempt: Int, of fire: FireID, _ backoff: Backoff) -> TimeSpan
    {
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

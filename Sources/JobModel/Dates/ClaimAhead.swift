// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// A claim of a date after the next one.
///
/// With it an event that fires often goes on while the store is busy with another user's long write.
package struct ClaimAhead: Hashable, Sendable {
    /// On the job's clock.
    package var date: Timestamp
    package var claim: StoredJob.Claim

    package init(
        date: Timestamp,
        claim: StoredJob.Claim
    ) {
        self.date = date
        self.claim = claim
    }
}

/// How many dates of a job may be claimed after the next one.
package enum ClaimDepth {
    /// How many a job may have; together with `jobs` this bounds how many claims one user has.
    package static let most = 64
    /// How many more the write of one fire claims: the depth grows fire by fire, so no write takes long.
    package static let perWrite = 2
    /// How many are claimed for each job of a write that adds at most `addedAtOnce`, so that its first fires
    /// do not wait for the store.
    package static let atAdd = 16
    /// The most jobs in one write for which `atAdd` holds.
    package static let addedAtOnce = 8
    /// For a user with more armed jobs than this, only the next dates are claimed.
    package static let jobs = 64

    /// How many dates after the next one are to be claimed for a job whose fire begins.
    ///
    /// `armed`: how many jobs its owner has armed. Zero for a fire that is late, and for a user whose fires
    /// wait: those dates would have passed too, and would be settled one by one.
    package static func depth(of job: StoredJob, armed: Int, isLate: Bool = false) -> Int {
        guard job.definition.isEvent, armed <= jobs, !isLate,
            job.claim?.isPast == false
        else { return 0 }
        return most
    }
}

/// What the record of a begun fire does besides storing the fire.
package struct GoingOn: Hashable, Sendable {
    /// How many dates are to be claimed after the next one.
    package var depth = 0
    /// Whether the store may know more of the job than the scheduler did when the fire began.
    package var isBehind = false
    /// Whether the claims after this fire are to be released, because the schedule says something else by
    /// now.
    package var dropsAhead = false

    package init(
        depth: Int = 0,
        isBehind: Bool = false,
        dropsAhead: Bool = false
    ) {
        self.depth = depth
        self.isBehind = isBehind
        self.dropsAhead = dropsAhead
    }
}

extension StoredJob {
    /// The job after its claimed fire has begun, at its next claimed date.
    ///
    /// Nil if no further date is claimed, or if the schedule has another next date by now.
    package func movedOn(at moment: ClockReading) -> StoredJob? {
        guard let fireDate, let next = ahead?.first,
            self.next(after: fireDate, fires: fires + 1, at: moment) == .date(next.date)
        else { return nil }
        return movedOn(by: 1)
    }

    /// The job after `count` of its claims have fired; nil if fewer are known.
    package func movedOn(by count: Int) -> StoredJob? {
        guard count > 0 else { return self }
        guard let ahead, ahead.count >= count else { return nil }
        var job = self
        job.fires += count
        job.fireDate = ahead[count - 1].date
        job.claim = ahead[count - 1].claim
        job.ahead = Array(ahead.dropFirst(count))
        return job
    }
}

// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// Claims of an event's dates after its next one, so that it goes on while the store is busy.
///
/// Releasing the job's own claim releases these as well.
extension JobTransaction {
    /// Moves the job to the next claimed date after its fire has begun; false if none is claimed.
    mutating func goOn(_ job: inout StoredJob, past date: Timestamp, _ going: GoingOn) throws
        -> Bool
    {
        guard !going.dropsAhead else {
            try deleteClaimsAhead(of: &job, after: date)
            return false
        }
        guard let next = job.ahead?.first else { return false }
        job.fireDate = next.date
        job.claim = next.claim
        job.ahead?.removeFirst()
        return true
    }

    /// Reads what the store knows of the job, which may be more than the scheduler knew at the fire.
    ///
    /// - Returns: false for a job that was held meanwhile: its fires do not go on from here.
    func catchUp(_ job: inout StoredJob) throws -> Bool {
        let stored = try jobs.standing(of: job.id)
        guard let stored, stored.claim != nil, !stored.isHeld else { return false }
        job.rowsSinceTrim = stored.rowsSinceTrim
        job.ahead = try claimsAhead(of: job)
        return true
    }

    /// Records a fire of a job that has been held since: the fire happened, and moves nothing.
    func recordBeside(_ begun: BegunFire) throws {
        let job = begun.job
        guard let date = job.fireDate else { return }
        try fires.restoreClaim(begun.fire, date, of: job, at: moment)
        try jobs.countFire(begun.fire, of: job.id)
    }

    /// Claims further dates of the job behind those that are claimed, up to the horizon.
    mutating func claimAhead(of job: inout StoredJob, depth: Int, most: Int) throws {
        guard job.state == .scheduled, !job.isHeld, job.movedFrom == nil, job.claim != nil,
            job.definition.isEvent, var ahead = job.ahead
        else { return }
        let (dates, now) = (job.dates, moment.reading(of: job.clock))
        let end = moment.date(ofElapsed: terms.horizons[job.ownerID], on: job.clock)
        for _ in 0..<most where ahead.count < depth {
            guard let last = ahead.last?.date ?? job.fireDate,
                case .date(let date) = job.next(
                    after: last,
                    fires: job.fires + 1 + ahead.count,
                    at: moment
                ), date > now, dates.due(date) < end, try isFree(date, of: job)
            else { break }
            // No new row: a user fired the job at this very instant.
            guard let fire = try fires.insertClaim(date, of: job, at: moment, missed: 0) else {
                break
            }
            job.rowsSinceTrim += 1
            let claim = StoredJob.Claim(fire: fire, missed: 0)
            ahead.append(ClaimAhead(date: date, claim: claim))
        }
        job.ahead = ahead
    }

    /// Whether the date has no row yet; false also for a row that cannot be read, which is reported when the
    /// job comes to that date.
    private func isFree(_ date: Timestamp, of job: StoredJob) throws -> Bool {
        do {
            return try row(of: job, covering: date) == nil
        } catch let error as DatabaseError where error.isUnreadableValue {
            return false
        }
    }

    /// The claims after the job's next date.
    func claimsAhead(of job: StoredJob) throws -> [ClaimAhead] {
        guard job.definition.isEvent, let date = job.fireDate else { return [] }
        return try fires.claims(of: job.id, after: date)
    }

    /// The job with its claims ahead, which its row does not hold.
    func withClaimsAhead(_ job: StoredJob) throws -> StoredJob {
        guard job.ahead == nil, job.unread == nil else { return job }
        var job = job
        job.ahead = try claimsAhead(of: job)
        return job
    }

    /// Releases the claims after `date`; a claim whose event may have been told keeps its row and is told again.
    mutating func deleteClaimsAhead(of job: inout StoredJob, after date: Timestamp) throws {
        var behind = job
        behind.fireDate = date
        let claims = try claimsAhead(of: behind)
        job.ahead = []
        for next in claims {
            guard next.claim.isRedelivery else {
                try fires.deleteClaim(next.claim.fire)
                continue
            }
            try redeliver(next.claim, of: &job, date: next.date)
        }
    }

    /// Releases the claims behind the job's next date for which its count leaves no fire: after a crash they would be taken
    /// for ones that may have been told.
    ///
    /// One whose event may have been told before stays, and is told again.
    func releaseBeyondCount(of job: inout StoredJob) throws {
        guard job.policy.count != nil, job.claim != nil else { return }
        let claims = try job.ahead ?? claimsAhead(of: job)
        let within = countTellable(claims, of: job)
        var kept = Array(claims.prefix(within))
        for next in claims.dropFirst(within) {
            if next.claim.isRedelivery {
                kept.append(next)
            } else {
                try fires.deleteClaim(next.claim.fire)
            }
        }
        job.ahead = kept
    }

    /// How many of the claims behind the job's next date can have been told without the store.
    ///
    /// A claim behind the job's end, by its `count` or its `until`, cannot have been told. The job's next date is claimed,
    /// too, and takes one of its `count`.
    ///
    /// `step`: by how much the wall clock was stepped after they may have been told.
    private func countTellable(
        _ claims: [ClaimAhead],
        of job: StoredJob,
        before step: TimeSpan = .zero
    ) -> Int {
        let room = job.policy.count.map { max(0, $0 - job.fires - 1) } ?? claims.count
        guard let until = job.policy.until else { return min(room, claims.count) }
        return claims.prefix(room).prefix {
            moment.wallDate($0.date, on: job.clock) - step <= until
        }.count
    }

    // MARK: - After a crash

    /// Goes through the claims that a crash left after the job's next date.
    ///
    /// A date that was due may have been told, and is told again; one that was not is released, as is one behind the job's
    /// end, which nobody can have been told of.
    ///
    /// - Returns: all of them.
    mutating func recoverAhead(of job: inout StoredJob) throws -> [FireID] {
        let now = moment.reading(of: job.clock)
        let left = try claimsAhead(of: job)
        let tellable = countTellable(left, of: job)
        var kept: [ClaimAhead] = []
        for (index, claim) in left.enumerated() {
            var next = claim
            if index < tellable, job.dates.due(next.date) <= now, !next.claim.isRedelivery {
                try fires.markMaybeTold(next.claim.fire, at: moment.wall)
                next.claim.isRedelivery = true
            }
            if next.claim.isRedelivery {
                kept.append(next)
            } else {
                try fires.deleteClaim(next.claim.fire)
            }
        }
        job.ahead = kept
        return left.map(\.claim.fire)
    }

    /// Marks the claims ahead as perhaps told that were due, and that lie behind their jobs' `until` only since the wall
    /// clock was stepped forward by `step` while no daemon ran.
    func markAheadMaybeTold(before step: TimeSpan) throws {
        var seen: Set<JobID> = []
        for (_, id) in try fires.open() where seen.insert(id).inserted {
            guard let job = try job(id), job.unread == nil, job.clock == .elapsed,
                job.policy.until != nil, job.claim != nil
            else { continue }
            let claims = try claimsAhead(of: job)
            for next in claims.prefix(countTellable(claims, of: job, before: step))
            where job.dates.due(next.date) <= moment.elapsed {
                try fires.markMaybeTold(next.claim.fire, at: moment.wall)
            }
        }
    }
}

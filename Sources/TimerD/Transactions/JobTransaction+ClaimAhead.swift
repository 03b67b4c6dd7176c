// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Dates of events that are claimed behind the next one: rows in state `claimed` after the job's own claim.
///
/// Whatever takes back a claim takes back these as well.
extension JobTransaction {
    /// Where the job stands once its fire has begun, if the next date is claimed; false if it is to be found.
    mutating func goOn(_ job: inout StoredJob, past date: Timestamp, _ going: GoingOn) throws
        -> Bool
    {
        guard !going.dropsAhead else {
            try removeAhead(of: &job, after: date)
            return false
        }
        guard let next = job.ahead?.first else { return false }
        job.fireDate = next.date
        job.claim = next.claim
        job.ahead?.removeFirst()
        return true
    }

    /// Has a record go on from what the store knows, where that may be more than the scheduler did.
    ///
    /// - Returns: whether the job is still where its fires go on from; not where it was held meanwhile.
    func catchUp(_ job: inout StoredJob) throws -> Bool {
        let stored = try jobs.standing(of: job.id)
        guard let stored, stored.claim != nil, !stored.isHeld else { return false }
        job.uncut = stored.uncut
        job.ahead = try claimsAhead(of: job)
        return true
    }

    /// Records a fire of a job that the store has held since: it has happened, and changes nothing else.
    func recordBeside(_ begun: BegunFire) throws {
        let job = begun.job
        guard let date = job.fireDate else { return }
        try fires.restoreClaim(begun.fire, date, of: job, at: moment)
        try jobs.countFire(begun.fire, of: job.id)
    }

    /// Claims further dates of the job behind those that are claimed, up to the horizon.
    mutating func claimAhead(of job: inout StoredJob, depth: Int, most: Int) throws {
        guard job.state == .scheduled, !job.isHeld, job.movedFrom == nil, job.claim != nil,
            job.definition.command == nil, var ahead = job.ahead
        else { return }
        let (dates, now) = (job.dates, moment.reading(of: job.clock))
        let end = moment.date(ofElapsed: horizons[job.ownerID], on: job.clock)
        for _ in 0..<most where ahead.count < depth {
            guard let last = ahead.last?.date ?? job.fireDate,
                case .date(let date) = job.next(
                    after: last,
                    fires: job.fires + 1 + ahead.count,
                    at: moment
                ), date > now, dates.due(date) < end, try isFree(date, of: job)
            else { break }
            // Without a row it was fired by hand at this very instant.
            guard let fire = try fires.insertClaim(date, of: job, at: moment, missed: 0) else {
                break
            }
            job.uncut += 1
            let claim = StoredJob.Claim(fire: fire, missed: 0)
            ahead.append(ClaimAhead(date: date, claim: claim))
        }
        job.ahead = ahead
    }

    /// Whether the date has no row yet; not where that cannot be read, which its turn will tell of.
    private func isFree(_ date: Timestamp, of job: StoredJob) throws -> Bool {
        do {
            return try row(of: job, covering: date) == nil
        } catch let error as DatabaseError where error.isUnreadableValue {
            return false
        }
    }

    /// What is claimed behind the job's next date.
    func claimsAhead(of job: StoredJob) throws -> [ClaimAhead] {
        guard job.definition.command == nil, let date = job.fireDate else { return [] }
        return try fires.claims(of: job.id, after: date)
    }

    /// The job with what is claimed behind its next date, which a row of it does not tell.
    func withClaimsAhead(_ job: StoredJob) throws -> StoredJob {
        guard job.ahead == nil, job.unread == nil else { return job }
        var job = job
        job.ahead = try claimsAhead(of: job)
        return job
    }

    /// Takes back what is claimed after `date`; what may have been told keeps its row, and is told again.
    mutating func removeAhead(of job: inout StoredJob, after date: Timestamp) throws {
        var behind = job
        behind.fireDate = date
        let claims = try claimsAhead(of: behind)
        job.ahead = []
        for next in claims {
            guard next.claim.isRedelivery else {
                try fires.deleteClaim(next.claim.fire)
                continue
            }
            try keepTold(next.claim, of: &job, date: next.date)
        }
    }

    // MARK: - After a crash

    /// What a crash left claimed behind the job's next date: what has come may have been told, and is told
    /// again after that; what is still to come is taken back.
    ///
    /// - Returns: all that were claimed.
    mutating func recoverAhead(of job: inout StoredJob) throws -> [FireID] {
        let now = moment.reading(of: job.clock)
        let left = try claimsAhead(of: job)
        var kept: [ClaimAhead] = []
        for var next in left {
            if next.date <= now, !next.claim.isRedelivery {
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
}

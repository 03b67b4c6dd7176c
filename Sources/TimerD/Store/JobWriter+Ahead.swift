// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Dates of events that are claimed behind the next one: rows in state `claimed` after the job's own claim.
///
/// Whatever takes back a claim takes back these as well.
extension JobWriter {
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
        let stored = try database.prepare(SQL.whereItStands).first(job.id) { row in
            (
                claim: try row.get(0, as: FireID?.self), uncut: try row.get(1, as: Int.self),
                isHeld: try row.get(2, as: Bool.self)
            )
        }
        guard let stored, stored.claim != nil, !stored.isHeld else { return false }
        job.uncut = stored.uncut
        job.ahead = try claimsAhead(of: job)
        return true
    }

    /// Records a fire of a job that the store has held since: it has happened, and changes nothing else.
    func recordBeside(_ begun: BegunFire) throws {
        let job = begun.job
        guard let date = job.fireDate else { return }
        let wallDate = moment.wallDate(date, on: job.clock)
        try database.prepare(SQL.insertTold).run(begun.fire, job.id, job.ownerID, date, wallDate)
        try database.prepare(SQL.countFire).run(job.id, begun.fire)
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
            let wallDate = moment.wallDate(date, on: job.clock)
            try database.prepare(SQL.insertClaim).run(job.id, job.ownerID, date, wallDate, 0)
            // Fired by hand at this very instant.
            guard database.changes == 1 else { break }
            job.uncut += 1
            let fire = FireID(rawValue: database.lastInsertRowID)
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

    /// The claim of a date that was left when the job was held, and lost its place.
    func claimLeft(of job: StoredJob, at date: Timestamp) throws -> StoredJob.Claim? {
        try database.prepare(SQL.claimLeft).first(job.id, date) { row in
            StoredJob.Claim(
                fire: try row.get(0),
                missed: 0,
                isSettled: date <= moment.reading(of: job.clock),
                isRedelivery: try row.get(1, as: Timestamp?.self) != nil
            )
        }
    }

    /// What is claimed behind the job's next date.
    func claimsAhead(of job: StoredJob) throws -> [ClaimAhead] {
        guard job.definition.command == nil, let date = job.fireDate else { return [] }
        return try database.prepare(SQL.claimsAhead).all(job.id, date) { row in
            let isInDoubt = try row.get(2, as: Timestamp?.self) != nil
            let fire: FireID = try row.get(0)
            return ClaimAhead(
                date: try row.get(1),
                claim: StoredJob.Claim(fire: fire, missed: 0, isRedelivery: isInDoubt)
            )
        }
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
                try database.prepare(SQL.deleteClaim).run(next.claim.fire)
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
                try doubt(next.claim.fire)
                next.claim.isRedelivery = true
            }
            if next.claim.isRedelivery {
                kept.append(next)
            } else {
                try database.prepare(SQL.deleteClaim).run(next.claim.fire)
            }
        }
        job.ahead = kept
        return left.map(\.claim.fire)
    }
}

extension JobWriter.SQL {
    /// Uses the index of UNIQUE (job_id, fire_date_us).
    static let claimsAhead = """
        SELECT id, fire_date_us, fired_at_us FROM fires
        WHERE job_id = ?1 AND fire_date_us > ?2 AND state = 'claimed' AND reason IS NOT 'manual'
        ORDER BY fire_date_us
        """
    static let claimLeft = """
        SELECT id, fired_at_us FROM fires
        WHERE job_id = ?1 AND fire_date_us = ?2 AND state = 'claimed' AND reason IS NOT 'manual'
        """
    static let whereItStands = "SELECT claim_id, uncut, held IS NOT NULL FROM jobs WHERE id = ?1"
    /// Its row was taken back with the others, or is there.
    static let insertTold = """
        INSERT OR IGNORE INTO fires (id, job_id, owner_id, fire_date_us, wall_date_us, state)
        VALUES (?1, ?2, ?3, ?4, ?5, 'claimed')
        """
    static let countFire = """
        UPDATE jobs SET fires = fires + 1, claim_id = nullif(claim_id, ?2) WHERE id = ?1
        """
}

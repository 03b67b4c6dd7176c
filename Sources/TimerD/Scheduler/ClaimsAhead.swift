// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A claim of a date after the next one.
///
/// With it an event that fires often goes on while the store is busy with another user's long write.
struct ClaimAhead: Hashable, Sendable {
    /// On the job's clock.
    var date: Timestamp
    var claim: StoredJob.Claim
}

/// How many dates of a job may be claimed after the next one.
enum ClaimDepth {
    /// How many a job may have; together with `jobs` this bounds how many claims one user has.
    static let most = 64
    /// How many more the write of one fire claims: the depth grows fire by fire, so no write takes long.
    static let perWrite = 2
    /// How many are claimed for each job of a write that adds at most `addedAtOnce`, so that its first fires
    /// do not wait for the store.
    static let atAdd = 16
    /// The most jobs in one write for which `atAdd` holds.
    static let addedAtOnce = 8
    /// For a user with more armed jobs than this, only the next dates are claimed.
    static let jobs = 64

    /// How many dates after the next one are to be claimed for a job whose fire begins.
    ///
    /// `armed`: how many jobs its owner has armed. Zero for a fire that is late, and for a user whose fires
    /// wait: those dates would have passed too, and would be settled one by one.
    static func depth(of job: StoredJob, armed: Int, isLate: Bool = false) -> Int {
        guard job.definition.command == nil, armed <= jobs, !isLate,
            job.claim?.isSettled == false
        else { return 0 }
        return most
    }
}

/// What the record of a begun fire does besides storing the fire.
struct GoingOn: Hashable, Sendable {
    /// How many dates are to be claimed after the next one.
    var depth = 0
    /// Whether the store may know more of the job than the scheduler did when the fire began.
    var isBehind = false
    /// Whether the claims after this fire are to be released, because the schedule says something else by
    /// now.
    var dropsAhead = false
}

extension StoredJob {
    /// The job after its claimed fire has begun, at its next claimed date.
    ///
    /// Nil if no further date is claimed, or if the schedule has another next date by now.
    func movedOn(at moment: Moment) -> StoredJob? {
        guard let fireDate, let next = ahead?.first,
            self.next(after: fireDate, fires: fires + 1, at: moment) == .date(next.date)
        else { return nil }
        return movedOn(by: 1)
    }

    /// The job after `count` of its claims have fired; nil if fewer are known.
    func movedOn(by count: Int) -> StoredJob? {
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

/// The jobs that fire on before the store has answered the records of their earlier fires; pure.
///
/// The store's answer about such a job may be older than what the scheduler knows. So each record about it
/// has a number, and the answer names the number of its record.
struct GoneAhead: Sendable {
    private struct Progress {
        /// The last record.
        var told: Int
        /// How many times the job has fired, that record included.
        var fires: Int
        /// Whether the job is not armed before that record is answered.
        var waits: Bool
    }

    private var jobs: [JobID: Progress] = [:]
    private var lastTold = 0

    var count: Int { jobs.count }

    /// Whether a record of a fire of the job is on its way.
    func contains(_ job: JobID) -> Bool { jobs[job] != nil }

    /// Notes a record about the job, which has fired `fires` times with it; returns the record's number.
    mutating func tell(of job: JobID, fires: Int, waits: Bool) -> Int {
        lastTold += 1
        jobs[job] = Progress(told: lastTold, fires: fires, waits: waits)
        return lastTold
    }

    /// The job to arm after the store's answer `said`; nil if that says nothing new.
    ///
    /// An older answer may bring new claims of dates that have not fired. An answer without a number, such as
    /// that of a change, is newer than all records: no fire of the job begins while a change is under way.
    mutating func take(_ said: StoredJob) -> StoredJob? {
        var job = said
        job.told = 0
        guard let progress = jobs[said.id] else { return job }
        if said.told == 0 || said.told >= progress.told || said.state != .scheduled || said.isHeld {
            jobs[said.id] = nil
            return job
        }
        if progress.waits { return nil }
        return job.movedOn(by: progress.fires - said.fires)
    }
}

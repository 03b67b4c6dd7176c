// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A claim of a date behind the next one: so an event that fires often goes on while the store is busy
/// with somebody else's long write.
struct ClaimAhead: Hashable, Sendable {
    /// On the job's clock.
    var date: Timestamp
    var claim: StoredJob.Claim
}

/// How many dates of a job may be claimed behind the next one.
enum ClaimDepth {
    /// How many a job may have: with `jobs` what a user may hold is bounded.
    static let most = 64
    /// How many more the write of a fire claims: the depth grows with the fires, and no write takes long.
    static let perWrite = 2
    /// How many the write claims that adds a job, if it adds few: the first fires wait for nobody either.
    static let atAdd = 16
    /// How many jobs that may be.
    static let addedAtOnce = 8
    /// How many jobs a user may have armed of whose dates more than the next are claimed.
    static let jobs = 64

    /// How many dates of a job whose fire begins are to be claimed behind the next one, where its owner has
    /// so many jobs armed.
    ///
    /// None behind a fire that is late, or of a user whose fires wait: those dates would have passed too, and
    /// be settled one by one.
    static func depth(of job: StoredJob, armed: Int, isLate: Bool = false) -> Int {
        guard job.definition.command == nil, armed <= jobs, !isLate,
            job.claim?.isSettled == false
        else { return 0 }
        return most
    }
}

/// What the record of a fire that has begun is to see to, besides the fire.
struct GoingOn: Hashable, Sendable {
    /// How many dates are to be claimed behind the next one.
    var depth = 0
    /// Whether the store may know more of the job than the scheduler did when the fire began.
    var isBehind = false
    /// Whether what was claimed behind the fire is not to fire: the schedule says something else by now.
    var dropsAhead = false
}

extension StoredJob {
    /// The job as it stands once its claimed fire has begun, where the next date is claimed too; nil
    /// where it is not, or is not what follows any more.
    func movedOn(at moment: Moment) -> StoredJob? {
        guard let fireDate, let next = ahead?.first,
            self.next(after: fireDate, fires: fires + 1, at: moment) == .date(next.date)
        else { return nil }
        return movedOn(by: 1)
    }

    /// The same once so many more of its claims have fired; nil where there are not as many.
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

/// The jobs that have gone on before the store has answered the records of their fires; pure.
///
/// What the store says of such a job may be older than what the scheduler knows. So each record about it is
/// numbered, and the answer says which one it is of.
struct GoneAhead: Sendable {
    private struct Progress {
        /// The last record.
        var told: Int
        /// How many times the job has fired, that record included.
        var fires: Int
        /// Whether nothing but its answer says what comes next.
        var waits: Bool
    }

    private var jobs: [JobID: Progress] = [:]
    private var lastTold = 0

    var count: Int { jobs.count }

    /// Whether a record of a fire of the job is on its way.
    func contains(_ job: JobID) -> Bool { jobs[job] != nil }

    /// Notes that the store is told of the job, which has fired `fires` times then; returns the record's number.
    mutating func tell(of job: JobID, fires: Int, waits: Bool) -> Int {
        lastTold += 1
        jobs[job] = Progress(told: lastTold, fires: fires, waits: waits)
        return lastTold
    }

    /// What is to be armed now that the store has said where the job stands; nil for nothing new.
    ///
    /// An older answer may bring claims that were not known, of dates that have not fired. What the store
    /// says unasked, as of a change, is newer than all records: no fire begins while that is on its way.
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

// SPDX-License-Identifier: Apache-2.0

import JobModel

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
    mutating func number(recordOf job: JobID, fires: Int, waits: Bool) -> Int {
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

// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Keys, each of which stands for one job of its owner.
extension JobTransaction {
    /// The job that has the key of a new one still; nil where the key is free.
    ///
    /// `isDeclared`: it is said what the jobs are to be, not that one is to be added. Then the key is free where its
    /// owner has ended the job that has it, and not where that has come to its end.
    func keptJob(of key: String, _ owner: OwnerID, isDeclared: Bool = false) throws -> StoredJob? {
        guard let id = try jobs.id(ofKey: key, owner: owner), var job = try job(id),
            // It may have been given another key, or none.
            job.definition.key.map({ ByteText($0) }) == ByteText(key)
        else { return nil }
        if isDeclared, try wasEndedAlive(job) { return nil }
        if !job.state.isLive, let end = job.endedAt, try !fires.hasOpen(id) {
            guard moment.wall - end < job.definition.keyLife else { return nil }
        }
        job.isExisting = true
        return job
    }

    /// The jobs of `new` that would be added: their key is that of no job that is there, nor of an earlier one of `new`.
    func fresh(of new: [NewJob], _ owner: OwnerID, isDeclared: Bool) throws -> [NewJob] {
        var keys: Set<ByteText> = []
        return try new.filter { job in
            guard let key = job.definition.key else { return true }
            return try keys.insert(ByteText(key)).inserted
                && keptJob(of: key, owner, isDeclared: isDeclared) == nil
        }
    }

    /// Whether a request ended it before it had come to its end.
    private func wasEndedAlive(_ job: StoredJob) throws -> Bool {
        switch job.endReason {
        case .replaced: true
        case .invalidated: try jobs.standingBeforeEnd(of: job.id) != nil
        default: false
        }
    }

    /// Refuses a key to a job that another one has still; `isDeclared` as above.
    ///
    /// `keys`: those that jobs get in the same write, some of them later than this one; two may change theirs for each other's.
    /// - Throws: `ControlError` `conflict`.
    func requireFree(
        _ key: String?,
        for job: StoredJob,
        isDeclared: Bool = false,
        beside keys: [JobID: ByteText?] = [:]
    ) throws {
        guard let key,
            let holder = try keptJob(of: key, job.ownerID, isDeclared: isDeclared),
            holder.id != job.id
        else { return }
        if let itsKey = keys[holder.id], itsKey != ByteText(key) { return }
        throw ControlError(
            .conflict,
            "job \(holder.id) has the key '\(key)', which stands for one job, so job \(job.id) cannot have it"
        )
    }
}

/// How much may be told of jobs that are there by their keys: one of 64 KiB may be named with a few bytes, again and
/// again.
struct ToldJobs {
    private let most: Int
    private var bytes = 0

    init(for new: [NewJob]) {
        most = new.reduce(Limits.keptJobsTold) { $0 + Int($1.text.storedBytes) }
    }

    /// Counts one.
    ///
    /// - Throws: `ControlError` `limitReached` where that is too much.
    mutating func take(_ job: StoredJob, of key: String) throws(ControlError) {
        bytes += 1024 + job.storedBytes
        guard bytes > most else { return }
        throw ControlError(
            .limitReached,
            "job \(job.id) has the key '\(key)': the answer would tell more of jobs that are there than the "
                + "request says of its own and \(Limits.keptJobsTold) bytes; name fewer of them at once"
        )
    }
}

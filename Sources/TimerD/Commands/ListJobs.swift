// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import TimerControl

extension CommandHandler {
    /// `job.list`: a page of the jobs that match, bounded in bytes too; with the last run of each if asked.
    func listJobs(_ filter: ListJobs, _ caller: Caller) async throws -> Answer {
        let limit = filter.limit ?? 100
        let moment = clock.now()
        let page = try await read(for: caller) { queries in
            let owner = try queries.owner(meant: filter.owner, caller)
            let page: JobPage =
                if let ids = filter.ids {
                    try queries.jobs(ids, after: filter.cursor, owner: owner, limit: limit)
                } else if filter.order == .nextFire, filter.held != true {
                    try queries.jobsByNextFire(filter, owner: owner, at: moment, limit: limit)
                } else {
                    try queries.jobsByNumber(filter, owner: owner, limit: limit)
                }
            let last = try page.jobs.map { job in
                filter.last == true ? try queries.lastRun(of: job.id, at: moment) : nil
            }
            return (jobs: page.jobs, last: last, cursor: page.cursor)
        }
        scheduler.noteUnreadable(page.jobs)
        var views = view(page.jobs)
        let bounds = await limits(of: page.last.compactMap(\.self))
        for index in views.indices {
            views[index].last = page.last[index]
            if let fire = page.last[index]?.fire { views[index].last?.limit = bounds[fire] }
        }
        return JobsReply(jobs: views, cursor: page.cursor)
    }

    /// `job.get`.
    func getJob(_ reference: JobReference, _ caller: Caller) async throws -> Answer {
        let job = try await job(reference, caller)
        scheduler.noteUnreadable([job])
        return JobReply(job: view(job))
    }

    /// The job that the caller means and may see.
    ///
    /// `owner`: in words, whose job a name means; nil for the caller's own.
    ///
    /// - Throws: `notFound`, also for a job of another owner; `notPermitted` for an `owner` who is not the caller's to ask for.
    func job(
        _ reference: JobReference,
        of owner: String? = nil,
        _ caller: Caller
    ) async throws -> StoredJob {
        switch reference {
        case .id(let id):
            guard let job = try await read(for: caller, { try $0.job(id, for: caller) }) else {
                throw ControlError.noJob(id)
            }
            return job
        case .name(let name):
            let found = try await read(for: caller) { queries in
                let own = try owner.flatMap { try queries.owner(meant: $0, caller) }
                let id = try own ?? Owners(queries.database).id(of: caller.owner)
                return try queries.jobID(named: name, owner: id).flatMap { try queries.job($0) }
            }
            guard let found else { throw ControlError.noKeptJob(named: name, of: owner, caller) }
            return found
        }
    }
}

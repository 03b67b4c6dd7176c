// SPDX-License-Identifier: Apache-2.0

import TimerControl

extension CommandHandler {
    /// `job.list`: a page of the jobs that match; where that is asked for, each with its last run.
    func listJobs(_ filter: ListJobs, _ caller: Caller) async throws -> Answer {
        let limit = filter.limit ?? 100
        let moment = clock.now()
        let (jobs, last) = try await read { queries in
            let owner = try queries.id(of: caller.onlyOwner)
            let jobs =
                filter.order == .nextFire
                ? try queries.jobsByNextFire(filter, owner: owner, at: moment, limit: limit + 1)
                : try queries.jobs(filter, owner: owner, limit: limit + 1).map {
                    (job: $0, end: .id($0.id))
                }
            let last = try jobs.prefix(limit).map { job, _ in
                filter.last == true ? try queries.lastRun(of: job.id, at: moment) : nil
            }
            return (jobs, last)
        }
        let page = jobs.prefix(limit)
        var views = view(page.map(\.job))
        for index in views.indices { views[index].last = last[index] }
        return JobsReply(jobs: views, cursor: jobs.count > limit ? page.last?.end : nil)
    }

    /// `job.get`.
    func getJob(_ reference: JobReference, _ caller: Caller) async throws -> Answer {
        JobReply(job: view(try await job(reference, caller)))
    }

    /// The job that the caller means and may see.
    ///
    /// - Throws: `notFound`, for one that belongs to somebody else as well.
    func job(_ reference: JobReference, _ caller: Caller) async throws -> StoredJob {
        switch reference {
        case .id(let id):
            guard let job = try await read({ try $0.job(id) }), caller.owns(job) else {
                throw ControlError.noJob(id)
            }
            return job
        case .name(let name):
            let found = try await read { queries in
                let own = try Owners(queries.database).id(of: caller.owner)
                return try queries.jobID(named: name, owner: own).flatMap { try queries.job($0) }
            }
            guard let found else { throw ControlError.noJob(named: name) }
            return found
        }
    }
}

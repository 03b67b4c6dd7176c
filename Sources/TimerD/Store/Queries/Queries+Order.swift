// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// The list of jobs in the order of their next fires.
extension Queries {
    /// The jobs that fire, soonest first, then the others, by growing id.
    ///
    /// The work grows with the page, up to so many jobs as a filter leaves out of `mostLookedAt`: jobs that wait are in an
    /// index, of one owner as of all; claimed ones are those that the scheduler has in hand.
    func jobsByNextFire(
        _ filter: ListJobs,
        owner: OwnerID?,
        at moment: ClockReading,
        limit: Int,
        in room: PageRoom = PageRoom()
    ) throws -> JobPage {
        var jobs: [StoredJob] = []
        var idle = filter
        if case .idle = filter.cursor {
            // All that fire have been listed.
        } else if filter.state ?? .scheduled == .scheduled {
            let search = DueSearch(filter, owner: owner, at: moment, limit: limit + 1)
            let due = try dueJobs(search)
            var last = search.after
            for next in due.jobs {
                let job =
                    jobs.count < limit
                    ? try job(next.id, hasLast: filter.last == true, in: room) : nil
                guard jobs.count < limit, !room.isFull else {
                    return JobPage(jobs: jobs, cursor: last.cursor)
                }
                if let job { jobs.append(job) }
                last = next
            }
            if let end = due.end { return JobPage(jobs: jobs, cursor: end.cursor) }
            idle.cursor = nil
        }
        let rest = try jobsByNumber(
            idle,
            owner: owner,
            limit: limit - jobs.count,
            isIdle: true,
            in: room
        )
        return JobPage(jobs: jobs + rest.jobs, cursor: rest.cursor)
    }

    /// What became of the job's newest date that has come: the last attempt of its own command.
    func lastRun(of job: JobID, at moment: ClockReading) throws -> Run? {
        try database.prepare(SQL.lastRun).first(job, moment.wall) { RunRow.run(from: $0).run }
    }
}

extension Queries.SQL {
    static let lastRun = """
        SELECT \(RunRow.columns), fires.id FROM \(RunRow.source)
        WHERE fires.job_id = ?1 AND fires.state NOT IN ('claimed', 'forgotten')
            AND fires.wall_date_us <= ?2 AND coalesce(runs.handler, 0) = 0
        ORDER BY fires.fire_date_us DESC, runs.id DESC LIMIT 1
        """
}

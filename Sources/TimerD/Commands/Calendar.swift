// SPDX-License-Identifier: Apache-2.0

import JobModel
import LinuxSystem
import Schedules
import TimerControl

/// What is due in stretches of time, counted page by page: others' reads have their turn between two pages.
extension CommandHandler {
    /// How many dates and buckets are looked at for one page; a millisecond has some ten thousand.
    private static let mostDates = 400_000

    /// `job.calendar`: how many dates of live jobs lie in each bucket, from now on.
    func jobCalendar(_ request: ReadCalendar, _ caller: Caller) async throws -> Answer {
        let buckets = try buckets(of: request)
        var after: JobID?
        if case .job(let id) = request.cursor { after = id }
        let part = try await read(for: caller) { [after] queries in
            let owner = try queries.owner(meant: request.owner, caller)
            return try queries.jobsToCount(tag: request.tag, owner: owner, after: after)
        }
        let moment = clock.now()
        var (numbers, looked) = (Array(repeating: 0, count: buckets.count), 0)
        var cursor = part.cursor
        // By index: a job that is not copied costs nothing to look at.
        for index in part.found.indices {
            guard looked < Self.mostDates else {
                cursor = after
                break
            }
            // Nobody waits for it any more, and others do for the page's place.
            try Task.checkCancellation()
            let dates = ComingDates(
                of: part.found[index],
                without: part.taken[part.found[index].id] ?? [],
                from: request.from,
                before: request.before,
                at: moment
            )
            looked += dates.work + dates.count(into: &numbers, by: buckets)
            after = part.found[index].id
        }
        let counted = zip(buckets.bounds, numbers).filter { $0.1 > 0 }
        return CalendarReply(
            buckets: counted.map { CalendarReply.Bucket(from: $0.0, count: $0.1) },
            cursor: cursor.map { .job($0) }
        )
    }

    /// `run.calendar`: what became of what was due.
    func runCalendar(_ request: ReadCalendar, _ caller: Caller) async throws -> Answer {
        let buckets = try buckets(of: request)
        let part = try await read(for: caller) { queries in
            let owner = try queries.owner(meant: request.owner, caller)
            return try queries.countsOfFires(
                in: buckets,
                tag: request.tag,
                owner: owner,
                after: request.cursor
            )
        }
        let counted = zip(buckets.bounds, part.found).filter { $0.1 != DueCounts() }
        return RunCalendarReply(
            buckets: counted.map { RunCalendarReply.Bucket(from: $0.0, counts: $0.1) },
            cursor: part.cursor
        )
    }

    /// `job.dates`: the dates to come of each job that has some.
    func jobDates(_ request: ReadDates, _ caller: Caller) async throws -> Answer {
        let limit = request.limit ?? 100
        let each = request.each ?? 10
        let part = try await read(for: caller) { queries in
            let owner = try queries.owner(meant: request.owner, caller)
            return try queries.jobsToCount(tag: request.tag, owner: owner, after: request.cursor)
        }
        let moment = clock.now()
        let room = PageRoom()
        var (jobs, cursor): ([DatesReply.JobDates], JobID?) = ([], part.cursor)
        var (after, looked) = (request.cursor ?? JobID(rawValue: 0), 0)
        for job in part.found {
            guard looked < Self.mostDates else {
                cursor = after
                break
            }
            try Task.checkCancellation()
            let coming = ComingDates(
                of: job,
                without: part.taken[job.id] ?? [],
                from: request.from,
                before: request.before,
                at: moment
            )
            let dates = coming.first(each)
            looked += coming.work + dates.count
            if !dates.isEmpty {
                // A date takes 30 bytes.
                let name = JSONWriter.byteCount(of: job.definition.name)
                let bytes = 100 + name + 30 * dates.count
                guard jobs.count < limit, room.takes(bytes) else {
                    cursor = after
                    break
                }
                jobs.append(
                    DatesReply.JobDates(
                        job: job.id,
                        name: job.definition.name,
                        dates: dates,
                        count: coming.count
                    )
                )
            }
            after = job.id
        }
        return DatesReply(jobs: jobs, cursor: cursor)
    }

    /// - Throws: `invalidParams`, where there are too many or no such zone.
    private func buckets(of request: ReadCalendar) throws(ControlError) -> CalendarBuckets {
        let most = ReadCalendar.mostBuckets
        let buckets: CalendarBuckets?
        switch request.bucket {
        case .hour:
            buckets = CalendarBuckets(
                hoursFrom: request.from,
                before: request.before,
                atMost: most
            )
        case .day:
            do throws(ScheduleError) {
                let zone = try request.tz.map { name throws(ScheduleError) in try Zone(named: name)
                }
                buckets = try CalendarBuckets(
                    daysFrom: request.from,
                    before: request.before,
                    in: zone ?? .local,
                    atMost: most
                )
            } catch {
                let isUnread = error.code == .unreadZone
                throw ControlError(
                    isUnread ? .limitReached : .invalidParams,
                    "parameter 'tz': \(error.message)"
                )
            }
        }
        guard let buckets else {
            throw ControlError(
                .invalidParams,
                "parameter 'before' is \(request.before.rfc3339), expected at most \(most) buckets of "
                    + "\(request.bucket == .hour ? "an hour" : "a day") after 'from', "
                    + request.from.rfc3339
            )
        }
        return buckets
    }
}

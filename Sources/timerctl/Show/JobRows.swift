// SPDX-License-Identifier: Apache-2.0

import JobModel
import TimerControl
import TimerWords

/// The rows of a job that its page tells of; pure.
struct JobRows {
    /// The nearest of the dates ahead that are dropped, what has come last, and what is not over, however old it is.
    private(set) var shown: [Run]
    /// All dates ahead that are dropped.
    var dropped: [Run] = []
    /// How many more are not over.
    private(set) var more = 0
    /// Whether there are more than were looked at.
    private(set) var isCut = false

    /// How many of each are shown.
    static let number = 10

    init(_ shown: [Run] = []) { self.shown = shown }

    /// Adds what is not over and is on none of the rows, the oldest of which may hold up all that is newer: what runs goes
    /// ahead of what waits.
    ///
    /// `open`: the newest first, as the rows are; `isCut`: whether there are more.
    mutating func add(open: [Run], isCut: Bool = false) {
        self.isCut = isCut
        // A fire has one row here: its run may have begun since.
        var known = Set(shown.map(\.fire))
        let older = open.filter { $0.state != .claimed && known.insert($0.fire).inserted }
        let running = older.filter { $0.state == .running }
        let waiting = older.filter { $0.state != .running }
        let chosen = Set((running + waiting).prefix(Self.number).map(\.fire))
        shown += older.filter { chosen.contains($0.fire) }
        more += older.count { !chosen.contains($0.fire) }
    }
}

extension Daemon {
    func rows(of job: JobID) async throws(Failure) -> JobRows {
        var request = ListRuns()
        request.job = job
        var found = RunsFound(JobRows.number, now: .now)
        let come = try await come(&found, &request)
        var rows = JobRows(found.ahead.map(\.run) + come)
        if !found.ahead.isEmpty { rows.dropped = try await datesDropped(of: job)[job] ?? [] }
        if request.cursor != nil {
            (request.open, request.cursor) = (true, nil)
            // A page: a job may have a hundred thousand tasks. What runs is asked for by itself, as it may stand behind these.
            let open = try await runs(request, atMost: Limits.page).page
            let running = try await inProgress().page.runs.filter { $0.job == job }
            rows.add(open: running + open.runs, isCut: open.cursor != nil)
        }
        return rows
    }

    /// The runs of commands in progress, of all jobs: as many as a page holds.
    func inProgress() async throws(Failure) -> (page: RunsReply, json: [JSONValue]) {
        var request = ListRuns()
        request.running = true
        return try await runs(request, atMost: Limits.page)
    }

    /// The tasks of a user's queue that workers have, with their jobs: a look at all of its tasks, of which a page looks at 2,000.
    func reservedTasks(
        of owner: String,
        in queue: String
    ) async throws(Failure) -> [(fire: FireID, job: JobID)] {
        var request = ListTasks()
        (request.owner, request.queue) = (owner, queue)
        (request.state, request.limit) = (.reserved, Limits.page)
        var found: [(fire: FireID, job: JobID)] = []
        repeat {
            let page = try await ask(.listTasks(request), for: TasksReply.self).value
            found += page.tasks.map { ($0.fire, $0.job) }
            request.cursor = page.cursor
        } while request.cursor != nil
        return found
    }

    /// The last run of each of these fires that is still kept.
    func lastRuns(of fires: [FireID]) async -> [(page: RunsReply, json: [JSONValue])] {
        var found: [(page: RunsReply, json: [JSONValue])] = []
        for fire in fires {
            var request = ListRuns()
            request.fire = fire
            // try?: it may be kept no longer by now.
            if let run = try? await runs(request, atMost: 1) { found.append(run) }
        }
        return found
    }

    /// The newest rows of all jobs whose dates have come, however many dates ahead were dropped.
    func newestRuns(_ number: Int) async throws(Failure) -> [Run] {
        var found = RunsFound(number, now: .now)
        var request = ListRuns()
        return try await come(&found, &request)
    }

    /// The rows of a list whose dates have come, as many as are to be found.
    private func come(
        _ found: inout RunsFound,
        _ request: inout ListRuns
    ) async throws(Failure) -> [Run] {
        var come: [Run] = []
        repeat {
            request.limit = found.limit
            let page = try await ask(.listRuns(request), for: RunsReply.self).value
            come += found.take(page.runs.map { RunsFound.Row(run: $0) }).map(\.run)
            request.cursor = page.cursor
        } while request.cursor != nil && !found.isFull
        return come
    }

    /// The rows of dates that are still ahead and will not fire, as they were dropped, by their jobs; of all jobs where none is
    /// named.
    func datesDropped(
        of job: JobID? = nil,
        tag: String? = nil,
        owner: String? = nil
    ) async throws(Failure) -> [JobID: [Run]] {
        var request = ListRuns()
        (request.job, request.tag, request.owner) = (job, tag, owner)
        (request.since, request.outcome) = (.now, .skipped)
        return Dictionary(grouping: try await runs(request, atMost: .max).page.runs, by: \.job)
    }
}

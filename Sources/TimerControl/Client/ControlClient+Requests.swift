// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// The requests as functions, for programs; each throws as `call` does.
extension ControlClient {
    /// Adds a job; the reply says whether it was there already, by its `key`, and what the daemon chose for ambiguous words.
    ///
    /// `dryRun`: it is tried and answered, and nothing is added.
    public func addJob(
        _ definition: JobDefinition,
        replace: Bool = false,
        dryRun: Bool = false
    ) async throws -> JobReply {
        try await call(.addJobs(AddJobs(definition, replace: replace, dryRun: dryRun)))
    }

    /// Adds all of them or none; the reply says which were there already, by their `key`.
    ///
    /// `dryRun`: as of `addJob`.
    public func addJobs(
        _ definitions: [JobDefinition],
        replace: Bool = false,
        dryRun: Bool = false
    ) async throws -> JobsReply {
        try await call(.addJobs(AddJobs(definitions, replace: replace, dryRun: dryRun)))
    }

    /// Ends, changes and adds jobs, all of it or nothing.
    @discardableResult
    public func applyJobs(_ request: ApplyJobs) async throws -> ApplyReply {
        try await call(.applyJobs(request))
    }

    public func job(_ job: JobReference) async throws -> Job {
        try await call(.getJob(job), as: JobReply.self).job
    }

    /// One page; its `cursor` goes into the request for the next.
    public func listJobs(_ request: ListJobs = ListJobs()) async throws -> JobsReply {
        try await call(.listJobs(request))
    }

    /// Those of these jobs that are kept and are the caller's to see, ended ones too; asked for by as many ids as a request takes.
    ///
    /// `value`: what is wanted of each. Of many jobs that are large no more than a page of them is in memory so.
    public func jobs<Value>(
        _ ids: [JobID],
        _ value: (Job) -> Value
    ) async throws -> [JobID: Value] {
        let ids = Set(ids).sorted()
        var found: [JobID: Value] = [:]
        for start in stride(from: 0, to: ids.count, by: Limits.page) {
            var request = ListJobs()
            request.ids = Array(ids[start..<min(start + Limits.page, ids.count)])
            request.limit = Limits.page
            // A page ends by its bytes, too.
            repeat {
                let page = try await listJobs(request)
                for job in page.jobs { found[job.id] = value(job) }
                request.cursor = page.cursor
            } while request.cursor != nil
        }
        return found
    }

    /// One page of the dates to come; its `cursor` goes into the request for the next.
    public func jobCalendar(_ request: ReadCalendar) async throws -> CalendarReply {
        try await call(.jobCalendar(request))
    }

    /// One page of what became of dates that have come; its `cursor` goes into the request for the next.
    public func runCalendar(_ request: ReadCalendar) async throws -> RunCalendarReply {
        try await call(.runCalendar(request))
    }

    /// One page of the jobs that have dates to come; its `cursor` goes into the request for the next.
    public func jobDates(_ request: ReadDates) async throws -> DatesReply {
        try await call(.jobDates(request))
    }

    @discardableResult
    public func invalidateJobs(_ jobs: JobSelection, kill: Bool = false) async throws -> JobsReply {
        try await call(.invalidateJobs(InvalidateJobs(jobs, kill: kill)))
    }

    /// Moves the next fire; the reply says what the daemon chose for ambiguous words.
    @discardableResult
    public func setFireDate(
        of job: JobReference,
        to fireDate: String,
        from: Timestamp? = nil
    ) async throws -> JobReply {
        try await call(.setFireDate(SetFireDate(job: job, fireDate: fireDate, from: from)))
    }

    @discardableResult
    public func fireJob(_ job: JobReference) async throws -> FireReply {
        try await call(.fireJob(job))
    }

    @discardableResult
    public func skipJobs(_ request: SkipJobs) async throws -> JobsReply {
        try await call(.skipJobs(request))
    }

    public func pauseJobs(_ jobs: JobSelection) async throws -> JobsReply {
        try await call(.pauseJobs(jobs))
    }

    @discardableResult
    public func resumeJobs(_ jobs: JobSelection) async throws -> JobsReply {
        try await call(.resumeJobs(jobs))
    }

    /// Has jobs that were ended by a request live again; nil for those of the last such request.
    @discardableResult
    public func restoreJobs(_ jobs: JobSelection? = nil) async throws -> JobsReply {
        try await call(.restoreJobs(jobs))
    }

    /// One page; its `cursor` goes into the request for the next.
    public func listRuns(_ request: ListRuns = ListRuns()) async throws -> RunsReply {
        try await call(.listRuns(request))
    }

    public func run(_ id: RunID) async throws -> Run {
        try await call(.getRun(RunReference(id: id)), as: RunReply.self).run
    }

    public func output(of id: RunID) async throws -> OutputReply {
        try await readOutput(ReadOutput(id: id))
    }

    /// A request with `wait` holds up the replies to the later requests of this client.
    public func readOutput(_ request: ReadOutput) async throws -> OutputReply {
        try await call(.readOutput(request))
    }

    public func previewSchedule(_ request: PreviewSchedule) async throws -> PreviewReply {
        try await call(.previewSchedule(request))
    }

    /// All nodes by name; none of a daemon that shares its jobs with no other.
    public func listNodes() async throws -> NodesReply {
        try await call(.listNodes)
    }

    /// Has a node begin nothing more, or with `drains` false lets it lead again; for administrators.
    @discardableResult
    public func drainNode(_ name: String, drains: Bool = true) async throws -> NodeView {
        let request = DrainNode(name: name, drains: drains)
        return try await call(.drainNode(request), as: NodeReply.self).node
    }

    public func metrics() async throws -> MetricsReply {
        try await call(.metrics)
    }

    public func status() async throws -> StatusReply {
        try await call(.status)
    }
}

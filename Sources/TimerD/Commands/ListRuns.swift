// SPDX-License-Identifier: Apache-2.0

import Runner
import TimerControl

extension CommandHandler {
    /// `run.list`: what became of the fires of one job, or of all, newest first, or of one fire; a page ends by its
    /// bytes, and by what was looked at, too.
    ///
    /// Those of all users have their owners' names.
    ///
    /// - Throws: `notFound` for a fire that is not kept, or is another owner's.
    func listRuns(_ request: ListRuns, _ caller: Caller) async throws -> Answer {
        if request.running == true { return try await listRunning(request, caller) }
        var filter = RunFilter()
        if let reference = request.job.map(JobReference.id) ?? request.name.map(JobReference.name) {
            filter.job = try await self.job(reference, of: request.owner, caller).id
        }
        filter.fire = request.fire
        filter.isOpen = request.open == true
        filter.isFailed = request.failed == true
        (filter.since, filter.outcome, filter.tag) = (request.since, request.outcome, request.tag)
        var reply: RunsReply = try await read(for: caller) { [filter] queries in
            var filter = filter
            filter.owner = try queries.owner(meant: request.owner, caller)
            let page = try queries.runs(filter, after: request.cursor, limit: request.limit ?? 20)
            // A fire has a row as long as it is kept; a later page may find it gone.
            if let fire = request.fire, request.cursor == nil, page.runs.isEmpty {
                throw ControlError.noFire(fire)
            }
            var runs = page.runs
            if filter.owner == nil, filter.job == nil, filter.fire == nil {
                for index in runs.indices {
                    runs[index].owner = try queries.owner(of: runs[index].fire)
                }
            }
            return RunsReply(runs: runs, cursor: page.cursor)
        }
        let bounds = await limits(of: reply.runs)
        for index in reply.runs.indices where reply.runs[index].waitsFor == .place {
            reply.runs[index].limit = bounds[reply.runs[index].fire]
        }
        return reply
    }

    /// The runs in progress, without a look at what waits; fewer where they do not fit on a page.
    private func listRunning(_ request: ListRuns, _ caller: Caller) async throws -> Answer {
        let owner = try await readStored { try $0.owner(meant: request.owner, caller) }
        let ids = await scheduler.runs(of: owner, atMost: request.limit ?? 20)
        let reply: RunsReply = try await read(for: caller) { queries in
            let room = PageRoom()
            var runs: [Run] = []
            for id in ids {
                guard var run = try queries.run(id, for: caller, in: room), run.state == .running
                else {
                    if room.isFull { break }
                    // It has ended since.
                    continue
                }
                if owner == nil { run.owner = try queries.owner(of: run.fire) }
                runs.append(run)
            }
            return RunsReply(runs: runs)
        }
        return reply
    }

    /// Of the fires that wait for a place, which limit keeps each from one: that is not stored.
    func limits(of runs: [Run]) async -> [FireID: Run.PlaceLimit] {
        let waiting = runs.filter { $0.waitsFor == .place }.map(\.fire)
        return waiting.isEmpty ? [:] : await scheduler.limits(of: waiting)
    }

    /// `run.get`.
    func getRun(_ reference: RunReference, _ caller: Caller) async throws -> Answer {
        var run = try await run(reference.id, caller)
        run.limit = await limits(of: [run])[run.fire]
        return RunReply(run: run)
    }

    /// `run.kill`: begins to end the run, whose end is reported as that of any run; of one that has ended the fire's next
    /// attempt is dropped.
    ///
    /// - Throws: for a stray, or an attempt at a task that a worker has, `conflict`, which says what ends it.
    func killRun(_ request: KillRun, _ caller: Caller) async throws -> Answer {
        let id = request.id
        let killAfter = try request.killAfterSpan()
        guard let run = try await read(for: caller, { try $0.run(id, for: caller) }) else {
            throw await refusal(ofStray: id, caller) ?? ControlError.noRun(id)
        }
        switch try await scheduler.endRun(id, within: killAfter, caller: caller) {
        case .gone:
            if let refusal = await refusal(ofStray: id, caller) { throw refusal }
            guard run.state != .reserved || run.outcome != nil else {
                throw ControlError.workerHas(run.fire, of: run.job, as: id)
            }
            guard try await scheduler.endAttempts(of: run.fire, with: id, caller: caller) else {
                throw ControlError(.conflict, "run \(id) is not in progress")
            }
            return RunReply(run: try await self.run(id, caller))
        case .refused:
            throw ControlError(
                .notPermitted,
                "the processes of run \(id) are not its owner's to end: they have become "
                    + "another user's, as programs that are setuid do; root may end them"
            )
        case .sent, .unknown: return RunReply(run: run)
        }
    }

    /// Why a run that goes on without the database is not ended, and what ends it; nil for any other, and for who may not
    /// know of it.
    private func refusal(ofStray run: RunID, _ caller: Caller) async -> ControlError? {
        guard caller.isAdministrator, let stray = await scheduler.stray(run) else { return nil }
        let advice =
            stray.pid > 0
            ? "'kill -- -\(stray.pid)' ends it"
            : "'timerd --end-runs' without a daemon ends it, with all others"
        return ControlError(
            .conflict,
            "run \(run) goes on, which the database does not have in progress, as after a restore; \(advice)"
        )
    }

    /// The run of that number, if the caller may see it.
    ///
    /// - Throws: `notFound`, also for a run of another owner.
    func run(_ id: RunID, _ caller: Caller) async throws -> Run {
        guard let run = try await read(for: caller, { try $0.run(id, for: caller) }) else {
            throw ControlError.noRun(id)
        }
        return run
    }
}

extension ControlError {
    static func noFire(_ id: FireID) -> Self {
        Self(.notFound, "there is no fire \(id); 'timerctl runs --json' shows those that are kept")
    }

    /// A task that only its worker, or the end of its job, ends; `run`: the attempt that was asked for, if it was that.
    static func workerHas(_ task: FireID, of job: JobID, as run: RunID? = nil) -> Self {
        let what =
            run.map { "run \($0) is a worker's attempt at task \(task)" }
            ?? "a worker has task \(task)"
        return Self(
            .conflict,
            "\(what); 'timerctl invalidate --kill \(job)' ends its job, and takes it away"
        )
    }

    static func noRun(_ id: RunID) -> Self {
        Self(.notFound, "there is no run \(id); 'timerctl runs' shows those that are kept")
    }
}

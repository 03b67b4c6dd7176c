// SPDX-License-Identifier: Apache-2.0

import TimerControl

extension CommandHandler {
    /// `run.list`: what became of the fires of one job, or of all, newest first by date; a page ends
    /// by its bytes too.
    func listRuns(_ filter: ListRuns, _ caller: Caller) async throws -> Answer {
        let limit = filter.limit ?? 20
        var job = filter.job
        if let reference = filter.job.map(JobReference.id) ?? filter.name.map(JobReference.name) {
            job = try await self.job(reference, caller).id
        }
        let (runs, isFull) = try await read(for: caller) { [job] queries in
            let room = PageRoom()
            let runs = try queries.runs(
                of: job,
                owner: try queries.id(of: caller.onlyOwner),
                isOpen: filter.open == true,
                cursor: filter.cursor,
                limit: limit + 1,
                in: room
            )
            return (runs, room.isFull)
        }
        let page = runs.prefix(limit)
        let isLast = !isFull && runs.count <= limit
        return RunsReply(runs: page.map(\.run), cursor: isLast ? nil : page.last?.cursor)
    }

    /// `run.get`.
    func getRun(_ reference: RunReference, _ caller: Caller) async throws -> Answer {
        RunReply(run: try await run(reference.id, caller))
    }

    /// `run.kill`: begins to end the run; its end is reported as that of any run.
    func killRun(_ reference: RunReference, _ caller: Caller) async throws -> Answer {
        let run = try await run(reference.id, caller)
        // Root may end processes that the run's owner may not.
        switch await scheduler.endRun(reference.id, asDaemon: caller.uid == 0) {
        case .gone: throw ControlError(.conflict, "run \(reference.id) is not in progress")
        case .refused:
            throw ControlError(
                .notPermitted,
                "the processes of run \(reference.id) are not its owner's to end: they have become "
                    + "another user's, as programs that are setuid do; root may end them"
            )
        case .sent, .unknown: return RunReply(run: run)
        }
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
    static func noRun(_ id: RunID) -> Self {
        Self(.notFound, "there is no run \(id); 'timerctl runs' shows those that are kept")
    }
}

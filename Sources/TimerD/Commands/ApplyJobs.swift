// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

extension CommandHandler {
    /// `job.apply`: checks every definition, then ends, changes and adds, all or none.
    func applyJobs(_ request: ApplyJobs, _ caller: Caller) async throws -> Answer {
        if let upload = request.upload {
            return try await applyUpload(upload, of: request, caller)
        }
        return try await applyJobs(request, Result { try changes(of: request, caller) }, caller)
    }

    /// The changes to make, each definition checked; changes nothing yet.
    func changes(of request: ApplyJobs, _ caller: Caller) throws -> JobChanges {
        let revised = request.change.map(\.definition)
        try requireFewTags(revised + request.add, caller)
        try requireUntied(revised, in: "change")
        try requireUntied(request.add, in: "add")
        try requireDistinctNames(request.add, in: "add")
        return JobChanges(
            invalidate: request.invalidate,
            change: zip(request.change, try checked(revised, caller, in: "change")).map {
                JobChanges.Change(id: $0.id, to: $1, ifRevision: $0.ifRevision)
            },
            add: try checked(request.add, caller, in: "add", areAdded: true),
            ifRevisions: request.ifRevisions,
            ifNoNewer: request.ifNoNewer
        )
    }

    /// Applies what has been checked.
    func applyJobs(
        _ request: ApplyJobs,
        _ checked: Result<JobChanges, any Error>,
        _ caller: Caller
    ) async throws -> Answer {
        if case .failure = checked { try await requireLive(request, caller) }
        let changes = try checked.get()
        let applied =
            try await request.dryRun
            ? scheduler.tryOut(changes, caller: caller) : scheduler.apply(changes, caller: caller)
        return ApplyReply(
            invalidated: view(Array(applied.invalidated.jobs.prefix(applied.invalidated.told))),
            changed: view(applied.changed),
            added: view(applied.added),
            others: applied.invalidated.untold,
            existing: applied.existing,
            notes: applied.notes
        )
    }

    /// Says of a lone change that its job has ended, where its definition is refused too: the date of what has finished
    /// has always passed.
    private func requireLive(_ request: ApplyJobs, _ caller: Caller) async throws {
        guard request.change.count == 1 else { return }
        let id = request.change[0].id
        let job = try await read(for: caller) { try $0.job(id, for: caller) }
        guard let job, job.owner == caller.owner, !job.state.isLive else { return }
        throw ControlError.notLive(job)
    }

    /// Refuses jobs tied to a process or a connection: `job.apply` describes a lasting state.
    private func requireUntied(
        _ definitions: [JobDefinition],
        in list: String
    ) throws(ControlError) {
        guard let index = definitions.firstIndex(where: \.isTied) else { return }
        throw ControlError(
            .invalidParams,
            "\(list)[\(index)]: 'whilePid' and 'whileConnected' are accepted by job.add alone"
        )
    }
}

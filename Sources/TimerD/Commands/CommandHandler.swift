// SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxSystem
import Logging
import SQLite
import Schedules
import TimerControl

/// Carries out requests: checks, calls, answers.
///
/// The one switch from a request to a command.
///
/// A command makes changes through the scheduler. It reads through the store's second connection, after
/// everything that was asked for before has been stored.
struct CommandHandler: Sendable {
    typealias Answer = any Encodable & Sendable

    let scheduler: Scheduler
    let reader: Reader
    let care: DatabaseMaintenance
    let clock: any WallClock
    let status: @Sendable (Caller) async -> StatusReply
    let metrics: @Sendable () async -> MetricsReply
    let log: Logger
    /// The user that the daemon runs as.
    let own: Owner
    /// The daemons that share their jobs with this one; nil for a daemon alone.
    var nodes: (any NodeRegistry)? = nil

    /// Carries out `request`; what it changes is durable when this returns.
    ///
    /// `isAlone`, `place`: see `Peer`.
    func handle(
        _ request: Request,
        from owner: Owner,
        over life: ConnectionLife? = nil,
        isAlone: Bool = false,
        place: WorkPlace? = nil
    ) async -> Result<Answer, ControlError> {
        var caller = caller(owner, life)
        caller.isAlone = isAlone
        caller.place = place
        return await outcome { [caller] in
            guard request.goesByScheduler else { return try await answer(request, caller) }
            return try await scheduler.detour(of: caller) { try await answer(request, caller) }
        }
    }

    /// Does the part of a request that takes long and needs nothing but the request; on any thread.
    ///
    /// That part checks a list of definitions, or finds the coming dates of a preview. The closure it returns
    /// does the rest, and is called as `handle` is.
    func check(
        _ request: Request,
        from owner: Owner,
        over life: ConnectionLife? = nil
    ) -> @Sendable () async -> Result<Answer, ControlError> {
        let caller = caller(owner, life)
        switch request {
        case .addJobs(let request):
            let jobs = Result { try newJobs(of: request, caller) }
            guard request.dryRun else {
                return { await outcome { try await addJobs(request, jobs.get(), caller) } }
            }
            return {
                await outcome {
                    try await scheduler.detour(of: caller) {
                        try await tryOut(request, jobs.get(), caller)
                    }
                }
            }
        case .putPart(let part):
            let checked = Result { try check(part, caller) }
            return { await outcome { try await putPart(part, checked.get(), caller) } }
        case .applyJobs(let request) where request.upload == nil:
            let checked = Result { try changes(of: request, caller) }
            return {
                await outcome {
                    try await scheduler.detour(of: caller) {
                        try await applyJobs(request, checked, caller)
                    }
                }
            }
        case .previewSchedule(let request):
            let preview = Result { try previewSchedule(request) }
            return { await outcome { try preview.get() } }
        default: return { await handle(request, from: owner, over: life) }
        }
    }

    private func caller(_ owner: Owner, _ life: ConnectionLife?) -> Caller {
        var caller = Caller(owner, daemon: own.uid)
        caller.life = life
        return caller
    }

    /// The answer of `body`, or its error; on the caller's executor up to its first suspension.
    ///
    /// What was refused because an owner was gone is carried out again if the owner is back: no look at held jobs finds
    /// that out before the minute is over, and none comes where no job is held.
    private nonisolated(nonsending) func outcome(
        isRepeated: Bool = false,
        _ body: () async throws -> Answer
    ) async -> Result<Answer, ControlError> {
        do {
            return .success(try await body())
        } catch let gone as GoneOwner {
            guard !isRepeated, await scheduler.isBack(gone.owner) else {
                return .failure(gone.refusal)
            }
            return await outcome(isRepeated: true, body)
        } catch let error as ControlError {
            return .failure(error)
        } catch let error as DatabaseError {
            log.debug("request failed", metadata: ["error": "\(error)"])
            return .failure(ControlError(.storageFailed, error.sentence))
        } catch is CancellationError {
            // The client is gone: nobody reads this.
            return .failure(ControlError(.stopping, "the request was given up"))
        } catch {
            log.error("request failed", metadata: ["error": "\(error)"])
            return .failure(ControlError(.internalError, "\(error)"))
        }
    }

    private func answer(_ request: Request, _ caller: Caller) async throws -> Answer {
        switch request {
        case .addJobs(let request): try await addJobs(request, caller)
        case .applyJobs(let request): try await applyJobs(request, caller)
        case .putPart(let part): try await putPart(part, try check(part, caller), caller)
        case .beginMaintenance(let owner): try await maintain(owner, .beginMaintenance, caller)
        case .endMaintenance(let owner): try await maintain(owner, .endMaintenance, caller)
        case .listUploads: try await listUploads(caller)
        case .dropUpload(let name): try await dropUpload(name, caller)
        case .getJob(let reference): try await getJob(reference, caller)
        case .listJobs(let filter): try await listJobs(filter, caller)
        case .invalidateJobs(let request): try await invalidateJobs(request, caller)
        case .setFireDate(let request): try await setFireDate(request, caller)
        case .fireJob(let reference): try await fireJob(reference, caller)
        case .pauseJobs(let jobs): try await changeJobs(jobs, .pause, caller)
        case .resumeJobs(let jobs): try await changeJobs(jobs, .resume, caller)
        case .restoreJobs(let jobs): try await restoreJobs(jobs, caller)
        case .skipJobs(let request):
            try await changeJobs(request.jobs, .skip(request.count, from: request.from), caller)
        case .listRuns(let filter): try await listRuns(filter, caller)
        case .listNotices(let request): try await listNotices(request, caller)
        case .getRun(let reference): try await getRun(reference, caller)
        case .readOutput(let reference): try await readOutput(reference, caller)
        case .killRun(let request): try await killRun(request, caller)
        case .previewSchedule(let request): try previewSchedule(request)
        case .status: await status(caller)
        case .metrics: await metrics()
        case .backUp(let request): try await backUp(request, caller)
        case .checkDatabase: try await checkDatabase(caller)
        case .reserveTasks(let request): try await reserveTasks(request, caller)
        case .extendTasks(let request): try await extendTasks(request, caller)
        case .finishTasks(let request): try await finishTasks(request, caller)
        case .failTasks(let request): try await failTasks(request, caller)
        case .releaseTasks(let request): try await releaseTasks(request, caller)
        case .listTasks(let request): try await listTasks(request, caller)
        case .retryTasks(let tasks): try await retryTasks(tasks, caller)
        case .dropTasks(let tasks): try await dropTasks(tasks, caller)
        case .kickTasks(let request): try await kickTasks(request, caller)
        case .listQueues(let request): try await listQueues(request, caller)
        case .setQueue(let request): try await setQueue(request, caller)
        case .jobCalendar(let request): try await jobCalendar(request, caller)
        case .jobDates(let request): try await jobDates(request, caller)
        case .runCalendar(let request): try await runCalendar(request, caller)
        case .listNodes: try await listNodes()
        case .drainNode(let request): try await drainNode(request, caller)
        case .subscribe:
            // The connection handles it itself: events go where the request came from.
            throw ControlError(.internalError, "a subscription reached the command handler")
        }
    }

    /// Reads the store, once everything that `caller` asked for or may have heard of before is in it.
    func read<T: Sendable>(
        for caller: Caller,
        _ body: @escaping @Sendable (Queries) throws -> T
    ) async throws -> T {
        try Task.checkCancellation()
        await scheduler.flush(for: caller)
        return try await readStored(body)
    }

    /// Reads what is in the store by now; all reads of jobs come by here.
    ///
    /// - Throws: `stopping` once another node may lead, and may have changed what was read.
    func readStored<T: Sendable>(
        _ body: @escaping @Sendable (Queries) throws -> T
    ) async throws -> T {
        // The client may be gone by now.
        try Task.checkCancellation()
        let found = try await reader.read { try body(Queries($0)) }
        try requireLead()
        return found
    }

    /// To be called behind each look at jobs that does not go by `readStored`, before what it has found is told.
    ///
    /// - Throws: `stopping` once another node may lead, see `Scheduler.passedOver`.
    func requireLead() throws(ControlError) {
        if let refusal = scheduler.passedOver { throw refusal }
    }

    /// The jobs as replies show them.
    func view(_ jobs: [StoredJob]) -> [Job] {
        let moment = clock.now()
        return jobs.map { view($0, at: moment) }
    }

    func view(_ job: StoredJob) -> Job { view(job, at: clock.now()) }

    private func view(_ job: StoredJob, at moment: ClockReading) -> Job {
        var view = Job(
            id: job.id,
            owner: job.owner.name,
            state: job.state,
            fireDate: job.wallFireDate(at: moment),
            fires: job.fires,
            addedAt: job.addedAt,
            endedAt: job.endedAt,
            endReason: job.endReason?.rawValue,
            definition: job.definition.hidesNothing
                ? job.definition : job.definition.masked
        )
        if let due = job.dueDate, due != job.fireDate {
            view.dueDate = moment.wallDate(due, on: job.clock)
        }
        if let uid = job.endedBy, uid != job.owner.uid {
            view.endedBy = RunStop.administrator.rawValue
        }
        view.held = job.heldReason
        view.revision = job.definitionRevision
        view.maintenance = job.isInMaintenance && job.state == .paused
        if let unread = job.unread {
            // try?: text that is not JSON is shown as a string.
            view.stored =
                (try? JSONValue(parsing: unread.definition)).map(JobDefinition.masked)
                ?? .string("the \(unread.definition.utf8.count) bytes of it are no JSON")
        }
        view.movedFrom = job.movedFrom.map { moment.wallDate($0, on: job.clock) }
        return view
    }
}

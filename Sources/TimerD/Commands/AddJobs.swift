// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Platform
import Schedules
import SystemPackage
import TimerControl

extension CommandHandler {
    /// `job.add`: checks every definition, then adds all of them or none.
    func addJobs(_ request: AddJobs, _ caller: Caller) async throws -> Answer {
        let jobs = try newJobs(of: request, caller)
        return try await request.dryRun
            ? tryOut(request, jobs, caller) : addJobs(request, jobs, caller)
    }

    /// The jobs to add, each checked; changes nothing.
    func newJobs(of request: AddJobs, _ caller: Caller) throws -> [NewJob] {
        try requireFewTags(request.definitions, caller)
        let list = request.isList ? "jobs" : nil
        let jobs = try checked(request.definitions, caller, in: list, areAdded: true)
        try requireDistinctNames(request.definitions, in: "jobs", replace: request.replace)
        return jobs
    }

    /// Adds checked jobs; first holds the processes that they are to be tied to.
    func addJobs(_ request: AddJobs, _ jobs: [NewJob], _ caller: Caller) async throws -> Answer {
        var jobs = jobs
        let added: [StoredJob]
        do {
            for index in jobs.indices where jobs[index].definition.isTied {
                jobs[index].process = try at(index, of: request) {
                    () throws(ControlError) in try holdTarget(of: jobs[index].definition, caller)
                }
            }
            added = try await scheduler.add(jobs, replace: request.replace, caller: caller)
        } catch {
            for process in jobs.compactMap(\.process) {
                scheduler.targets.release(process, for: caller.uid)
            }
            throw error
        }
        return answer(request, jobs, added)
    }

    /// What `addJobs` would answer, changing nothing.
    func tryOut(_ request: AddJobs, _ jobs: [NewJob], _ caller: Caller) async throws -> Answer {
        var jobs = jobs
        for index in jobs.indices where jobs[index].definition.isTied {
            jobs[index].process = try at(index, of: request) {
                () throws(ControlError) in try target(of: jobs[index].definition, caller)
            }
        }
        var changes = JobChanges(invalidate: [], change: [], add: jobs)
        changes.addition = .new(replace: request.replace)
        return answer(request, jobs, try await scheduler.tryOut(changes, caller: caller).added)
    }

    /// What `body` finds of a job of the request, whose place its refusal names.
    private func at<Value>(
        _ index: Int,
        of request: AddJobs,
        _ body: () throws(ControlError) -> Value
    ) throws(ControlError) -> Value {
        do {
            return try body()
        } catch {
            guard request.isList else { throw error }
            throw ControlError(error.reason, "jobs[\(index)]: \(error.message)")
        }
    }

    private func answer(_ request: AddJobs, _ jobs: [NewJob], _ added: [StoredJob]) -> Answer {
        let views = view(added)
        let existing = added.existing
        guard !request.isList, let only = views.first else {
            return JobsReply(jobs: views, existing: existing)
        }
        let notes = jobs[0].notes
        return JobReply(
            job: only,
            notes: notes.isEmpty ? nil : notes,
            existing: existing.map { _ in true }
        )
    }

    /// Checks each definition by itself; `list` is the parameter that holds them, for messages.
    func checked(
        _ definitions: [JobDefinition],
        _ caller: Caller,
        in list: String?,
        areAdded: Bool = false
    ) throws(ControlError) -> [NewJob] {
        let name = { (error: ControlError, index: Int) in
            list.map { ControlError(error.reason, "\($0)[\(index)]: \(error.message)") } ?? error
        }
        let moment = clock.now()
        // Of one list all jobs have one zone; most need none, and finding it asks the system.
        lazy var zone = Zone.local
        var jobs: [NewJob] = []
        jobs.reserveCapacity(definitions.count)
        // By their places: a definition is not copied for a look at it.
        for index in definitions.indices {
            do {
                var job = try NewJob(
                    definitions[index],
                    owner: caller.owner,
                    at: moment,
                    zone: zone,
                    isAdded: areAdded
                )
                job.refusal = job.refusal.map { name($0, index) }
                job.historyRefusal = tooLongHistory(of: job).map { name($0, index) }
                job.place = list.map { "\($0)[\(index)]: " } ?? ""
                try requireNeeds(of: definitions[index])
                try requireNiceness(of: job)
                try requireHosts(for: job)
                jobs.append(job)
            } catch {
                throw name(error, index)
            }
        }
        return jobs
    }

    /// Refuses what would have no effect.
    private func requireNeeds(of definition: JobDefinition) throws(ControlError) {
        do throws(OptionRefusal) {
            try definition.checkNeeds()
        } catch {
            throw ControlError(error)
        }
    }

    /// That it is to keep more runs than the administrator allows; nil where it is not.
    ///
    /// A job that was given that many before the bound was lowered is still changed and renamed.
    private func tooLongHistory(of job: NewJob) -> ControlError? {
        let most = scheduler.terms.historyBound.most
        guard let number = job.policy.keepRuns, number > most else { return nil }
        return ControlError(
            .invalidParams,
            "parameter 'keepRuns' is \(number), accepted here is 1 to \(most) (the setting maxRunsKept)"
        )
    }

    /// Refuses to choose among hosts where there is one.
    private func requireHosts(for job: NewJob) throws(ControlError) {
        guard let label = job.policy.run.on, nodes == nil else { return }
        throw ControlError(
            .invalidParams,
            "parameter 'on' is '\(label)', and this daemon shares its jobs with no other host: leave it out,"
                + " or set 'database' to PostgreSQL's address"
        )
    }

    /// Refuses a niceness that the kernel would refuse at each run.
    private func requireNiceness(of job: NewJob) throws(ControlError) {
        guard let nice = job.policy.run.limits.nice,
            let least = ProcessLimits.leastNice(owner: job.owner.uid, daemon: own.uid), nice < least
        else { return }
        throw ControlError(
            .notPermitted,
            "parameter 'nice' is '\(nice)', accepted from \(job.owner.words) is \(least) to 19"
        )
    }
}

extension CommandHandler {
    /// Holds the process that the job is tied to, for as long as it is being added; nil if it is tied to a
    /// connection.
    private func holdTarget(
        of definition: JobDefinition,
        _ caller: Caller
    ) throws(ControlError) -> ProcessIdentity? {
        guard let process = try target(of: definition, caller) else { return nil }
        do throws(TargetWatch.Refusal) {
            try scheduler.targets.hold(process, for: caller.uid)
        } catch {
            throw ControlError(error, process.pid)
        }
        return process
    }
}

/// The process that the job is tied to; nil if it is tied to a connection.
private func target(
    of definition: JobDefinition,
    _ caller: Caller
) throws(ControlError) -> ProcessIdentity? {
    if definition.whileConnected == true, caller.life == nil {
        throw ControlError(.invalidParams, "parameter 'whileConnected' needs a connection")
    }
    guard let pid = definition.whilePid else { return nil }
    if let host = caller.life?.host {
        throw ControlError(
            .invalidParams,
            "parameter 'whilePid' is \(pid), a process of '\(host)': accepted are processes of the host"
                + " that leads (timerctl nodes); 'whileConnected' is accepted from every host"
        )
    }
    // Its number would be that of any other process here, and the job would go on without the client's.
    if let process = caller.life?.process, PIDNamespace.isForeign(to: process) {
        throw ControlError(
            .invalidParams,
            "parameter 'whilePid' is \(pid), a number of another PID namespace, as containers have: accepted are numbers of"
                + " the daemon's; 'whileConnected' is accepted from everywhere"
        )
    }
    guard definition.whileConnected != true else {
        throw ControlError(
            .invalidParams,
            "parameters 'whilePid' and 'whileConnected' exclude each other"
        )
    }
    let status: ProcessStatus?
    do throws(Errno) {
        status = try ProcessStatus.look(at: pid)
    } catch {
        throw ControlError(TargetWatch.Refusal.system(error), pid)
    }
    guard pid > 0, let status, !status.hasEnded else { throw ControlError.noProcess(pid) }
    return ProcessIdentity(pid: pid, ticks: status.ticks)
}

extension ControlError {
    fileprivate static func noProcess(_ pid: Int32) -> Self {
        Self(.invalidParams, "parameter 'whilePid' is \(pid), but there is no such process")
    }

    /// Why a job cannot be tied to the process `pid`.
    fileprivate init(_ refusal: TargetWatch.Refusal, _ pid: Int32) {
        switch refusal {
        case .gone: self = .noProcess(pid)
        case .tooMany(let count, isUsers: true):
            self.init(
                .limitReached,
                "parameter 'whilePid' is \(pid): your jobs are tied to \(count) other processes, "
                    + "which is as many as are accepted"
            )
        case .tooMany(let count, isUsers: false):
            self.init(
                .limitReached,
                "parameter 'whilePid' is \(pid): jobs are tied to \(count) other processes, "
                    + "a quarter of the descriptors that the daemon may have"
            )
        case .reserved(let reason):
            self.init(
                .limitReached,
                "parameter 'whilePid' is \(pid): the process cannot be watched now: \(reason)"
            )
        case .system(let cause):
            self.init(
                .limitReached,
                "parameter 'whilePid' is \(pid): the process cannot be watched now: \(cause.text)"
            )
        }
    }
}

/// Refuses jobs with more tags than one write has time for; root's may have any number.
func requireFewTags(_ definitions: [JobDefinition], _ caller: Caller) throws(ControlError) {
    let count = definitions.reduce(0) { $0 + ($1.tags?.count ?? 0) }
    guard caller.uid != 0, count > Limits.tagsWritten else { return }
    throw ControlError(
        .limitReached,
        "the jobs have \(count) tags together, at most \(Limits.tagsWritten) are written at once; accepted are fewer"
            + " jobs, or fewer tags of each"
    )
}

/// Refuses a list in which two jobs have one name: the second would replace the first, or fail it.
///
/// One with a key may be a job that is there, which only the store knows. It then refuses the second of two new ones itself;
/// where that would replace the first, keys of the list alone count.
func requireDistinctNames(
    _ definitions: [JobDefinition],
    in list: String,
    replace: Bool = false
) throws(ControlError) {
    var (seen, keys): ([ByteText: Int], Set<ByteText>) = ([:], [])
    for index in definitions.indices {
        let mayBeThere =
            definitions[index].key.map { !replace || !keys.insert(ByteText($0)).inserted }
            ?? false
        guard let name = definitions[index].name, !mayBeThere else { continue }
        if let first = seen.updateValue(index, forKey: ByteText(name)) {
            throw ControlError(
                .nameTaken,
                "\(list)[\(index)]: the name '\(name)' is that of \(list)[\(first)] as well"
            )
        }
    }
}

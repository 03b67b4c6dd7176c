// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Carries out an import: shows it, or adds the jobs that the daemon does not have yet.
struct Importer {
    var plan: ImportPlan
    var options: ImportOptions
    /// What the user still has to do elsewhere; printed once jobs were added.
    var reminder: String

    func run() async throws {
        for note in plan.notes { Output.complain("note: \(note)") }
        for refusal in plan.refusals {
            Output.complain("\(refusal.place), '\(refusal.text)': \(refusal.reason)")
        }
        if options.dryRun { try await preview() }
        guard plan.refusals.isEmpty || options.skipRefused else {
            throw Failure(
                .badData,
                "nothing is added; mend what is named above, or give --skip-refused"
            )
        }
        if options.dryRun { return }
        try await add()
    }

    // MARK: - Adding

    private func add() async throws {
        let daemon = try await Daemon.connect(options.common)
        let comparison = ImportComparison(of: plan.jobs, with: try await live(daemon))
        for (job, there) in comparison.present {
            Output.tell("\(job.place): there already as \(there.title)")
        }
        tell(of: comparison.gone)
        let new = comparison.new
        let added = try await Progress.show("adding jobs", of: new.count) { progress in
            try await addAll(try await named(new, daemon, progress))
        }
        if options.common.json {
            try Output.write(added.map(\.json).joined())
        } else {
            try Output.write(added.map { "\($0.job.id)\n" }.joined())
            for (job, _) in added {
                Output.tell("\(job.title): \(job.firstFireSentence(in: .local))")
            }
        }
        if !added.isEmpty { Output.tell(reminder) }
    }

    private func tell(of gone: [Job]) {
        for job in gone {
            Output.tell(
                "\(job.title) came from there, and does no more: 'timerctl invalidate \(job.id)' ends it"
            )
        }
    }

    /// Adds the jobs in one request for each owner; if one is refused, none stays.
    private func addAll(_ jobs: [ImportedJob]) async throws -> [(job: Job, json: String)] {
        var added: [(job: Job, json: String)] = []
        var owners: [LocalUser] = []
        for job in jobs where !owners.contains(job.owner) { owners.append(job.owner) }
        for owner in owners {
            let own = jobs.filter { $0.owner == owner }
            do {
                let daemon = try await owner.connect(options.common)
                let request = Request.addJobs(AddJobs(own.map(\.definition)))
                let answer = try await daemon.ask(request, for: JobsReply.self)
                let lines = answer.jsonLines("jobs").split(separator: "\n").map { "\($0)\n" }
                added += zip(answer.value.jobs, lines).map { ($0, $1) }
                await daemon.client.close()
            } catch {
                try await remove(added.map(\.job.id))
                // The daemon's "jobs[3]: ..." is replaced by the job's line in the source.
                throw Failure(error.status, "as '\(owner.name)': \(sentence(error.message, own))")
            }
        }
        return added
    }

    private func remove(_ ids: [JobID]) async throws {
        if ids.isEmpty { return }
        let daemon = try await Daemon.connect(options.common)
        _ = try await daemon.ask(
            .invalidateJobs(InvalidateJobs(.ids(ids))),
            for: JobsReply.self
        )
    }

    private func sentence(_ message: String, _ jobs: [ImportedJob]) -> String {
        for (index, job) in jobs.enumerated() {
            let prefix = "jobs[\(index)]: "
            if message.hasPrefix(prefix) {
                return "\(job.place): \(message.dropFirst(prefix.count))"
            }
        }
        return message
    }

    /// The live jobs of this source, of the owners of its jobs and of the caller.
    private func live(_ daemon: Daemon) async throws(Failure) -> [Job] {
        var jobs: [Job] = []
        var request = ListJobs()
        request.tag = plan.tag
        request.limit = 1000
        repeat {
            let page = try await daemon.ask(.listJobs(request), for: JobsReply.self).value
            jobs += page.jobs
            request.cursor = page.cursor
        } while request.cursor != nil
        let owners = plan.jobs.map(\.owner) + [.current]
        return jobs.filter { job in owners.contains { $0.owns(job) } }
    }

    /// Names each job after its command, with a number if another job has that name.
    private func named(
        _ jobs: [ImportedJob],
        _ daemon: Daemon,
        _ progress: Progress
    ) async throws(Failure) -> [ImportedJob] {
        var jobs = jobs
        var taken: Set<[String]> = []
        for index in jobs.indices {
            progress.advance()
            guard let name = jobs[index].definition.name else { continue }
            let owner = jobs[index].owner
            var (candidate, number) = (name, 2)
            while true {
                let isNew = taken.insert([owner.name, candidate]).inserted
                if isNew, try await !isTaken(candidate, by: owner, daemon) { break }
                candidate = "\(name)-\(number)"
                number += 1
            }
            jobs[index].definition.name = candidate
        }
        return jobs
    }

    private func isTaken(
        _ name: String,
        by owner: LocalUser,
        _ daemon: Daemon
    ) async throws(Failure) -> Bool {
        var request = ListJobs()
        request.name = name
        repeat {
            let page = try await daemon.ask(.listJobs(request), for: JobsReply.self).value
            if page.jobs.contains(where: { owner.owns($0) }) { return true }
            request.cursor = page.cursor
        } while request.cursor != nil
        return false
    }

    // MARK: - Showing

    private func preview() async throws {
        let now = Timestamp.now
        var daemon: Daemon?
        do throws(Failure) {
            daemon = try await Daemon.connect(options.common)
        } catch {
            Output.complain("note: new dates are computed here, for no daemon answers")
        }
        let live = if let daemon { try await live(daemon) } else { [Job]() }
        let comparison = ImportComparison(of: plan.jobs, with: live)
        tell(of: comparison.gone)
        let (jobs, source) = (plan.jobs, daemon)
        var previews = try await Progress.show("asking for dates", of: jobs.count) { progress in
            var previews: [JobPreview] = []
            for job in jobs {
                previews.append(try await JobPreview(of: job, at: now, by: source))
                progress.advance()
            }
            return previews
        }
        for (job, there) in comparison.present {
            let index = previews.firstIndex {
                $0.job.place == job.place && $0.job.identity == job.identity
            }
            if let index { previews[index].there = there }
        }
        if options.common.json { return try Output.write(previews.map(\.json).joined()) }
        let terminal = Terminal.current
        try Output.write(previews.map { $0.text(for: terminal) + "\n" }.joined())
        let comparable = previews.filter { !$0.old.dates.isEmpty }
        Output.tell(
            "\(comparison.new.count) to add, \(comparison.present.count) there already, "
                + "\(plan.refusals.count) refused; the dates agree for "
                + "\(comparable.count { $0.isSame }) of \(comparable.count)"
        )
    }
}

/// Imported jobs compared with the live jobs of the same source.
struct ImportComparison {
    var new: [ImportedJob] = []
    var present: [(job: ImportedJob, there: Job)] = []
    /// Live jobs that the source does not have any more.
    var gone: [Job]

    init(of jobs: [ImportedJob], with live: [Job]) {
        gone = live
        for job in jobs {
            let index = gone.firstIndex { other in
                var definition = other.definition
                definition.name = nil
                return definition == job.identity && job.owner.owns(other)
            }
            if let index {
                present.append((job, gone.remove(at: index)))
            } else {
                new.append(job)
            }
        }
    }
}

extension LocalUser {
    /// Whether the job is this user's; the daemon may know the user by uid only.
    func owns(_ job: Job) -> Bool { job.owner == name || job.owner == "\(uid)" }
}

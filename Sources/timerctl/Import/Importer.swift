// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// Carries out an import: shows it, or adds the jobs that the daemon does not have yet.
struct Importer {
    var plan: ImportPlan
    var options: ImportOptions
    /// What the user still has to do elsewhere, if anything; printed once jobs were added.
    var reminder: String?

    func run() async throws {
        report()
        if options.dryRun { try await preview() }
        try Self.requireCarried([plan], options)
        if options.dryRun { return }
        try await add()
    }

    /// Says what is not carried, or not as it was.
    func report() {
        for warning in plan.warnings { Output.complain("warning: \(warning)") }
        for note in plan.notes { Output.complain("note: \(note)") }
        for refusal in plan.refusals {
            Output.complain("\(refusal.place), '\(refusal.text)': \(refusal.reason)")
        }
    }

    /// Throws if something was refused, unless that is to be left out.
    static func requireCarried(_ plans: [ImportPlan], _ options: ImportOptions) throws(Failure) {
        guard options.skipRefused || plans.allSatisfy(\.refusals.isEmpty) else {
            throw Failure(
                .badData,
                "nothing is added; mend what is named above, or give --skip-refused"
            )
        }
    }

    // MARK: - Adding

    func add() async throws {
        let daemon = try await Daemon.connect(options.common)
        let live = try await live(daemon)
        var comparison = ImportComparison(of: plan.jobs, with: live.own, others: live.others)
        let added = try await addNew(&comparison, live, daemon)
        for present in comparison.present where present.otherSource == nil {
            Output.tell("\(present.job.place): \(present.sentence)")
        }
        tell(of: comparison)
        let isJSON = options.common.json
        try Output.write(
            added.map { isJSON ? $0.json : "\($0.job.id)\n" }.joined(),
            done: added.count == 1
                ? "job \(added[0].job.id) was added" : "\(added.count) jobs were added"
        )
        if !isJSON {
            for (job, _) in added {
                Output.tell("\(job.title): \(job.firstFireSentence(in: .local))")
            }
        }
        if let reminder, !added.isEmpty { Output.tell(reminder) }
    }

    /// What came from the source and does no more, and what another one has brought.
    private func tell(of comparison: ImportComparison) {
        let caller = LocalUser.current
        for present in comparison.present where present.otherSource != nil {
            let owner = present.job.owner
            let user = owner == caller ? [] : ["--user", owner.name]
            let words = ["timerctl", "copy", "\(present.there.id)", "NAME"] + user
            Output.complain(
                "warning: \(present.job.place): \(present.sentence); it is not added once more, "
                    + "which \(ShellWords.command(words)) does"
            )
        }
        for job in comparison.gone {
            Output.tell(
                "\(job.title) came from there, and does no more: 'timerctl invalidate \(job.id)' ends it"
            )
        }
    }

    /// Adds the new jobs of one owner after those of another; if one is refused, those before it are removed.
    ///
    /// - Throws: the first failure, which also says how many jobs stay where they cannot be removed.
    private func addNew(
        _ comparison: inout ImportComparison,
        _ live: Live,
        _ daemon: Daemon
    ) async throws -> [(job: Job, json: String)] {
        var owners: [LocalUser] = []
        for job in comparison.new where !owners.contains(job.owner) { owners.append(job.owner) }
        var added: [(job: Job, json: String)] = []
        for owner in owners {
            do {
                added += try await addNew(of: owner, &comparison, live, daemon)
            } catch {
                let failure = Failure(answering: error)
                let rest = await remove(added.map(\.job.id))
                throw failure.saying("as '\(owner.name)': \(failure.message)\(rest)")
            }
        }
        return added
    }

    /// Adds the new jobs of one owner; begins anew, with these alone, where another import has added jobs meanwhile.
    private func addNew(
        of owner: LocalUser,
        _ comparison: inout ImportComparison,
        _ live: Live,
        _ daemon: Daemon
    ) async throws -> [(job: Job, json: String)] {
        let own = try await owner.connect(options.common)
        var (seen, attempt) = (live, 1)
        while true {
            let new = comparison.new.filter { $0.owner == owner }
            let newest = NewestTagged(tag: plan.tag, id: seen.own.map(\.id).max())
            do {
                let added = try await Progress.show("adding jobs", of: new.count) { progress in
                    try await add(Self.parts(of: named(new, own)), newest, own, progress)
                }
                await own.client.close()
                return added
            } catch let error as Failure
                where error.conflict != nil && attempt < Failure.attempts
            {
                attempt += 1
                let now = try await self.live(daemon)
                func ids(_ jobs: [Job]) -> [JobID] { jobs.filter { owner.owns($0) }.map(\.id) }
                guard error.conflict == .taken || ids(now.own) != ids(seen.own) else {
                    throw error
                }
                seen = now
                comparison.renew(
                    owner,
                    from: ImportComparison(of: plan.jobs, with: seen.own, others: seen.others)
                )
            }
        }
    }

    /// Adds the jobs of one owner, all or none.
    private func add(
        _ parts: [[ImportedJob]],
        _ newest: NewestTagged,
        _ daemon: Daemon,
        _ progress: Progress
    ) async throws -> [(job: Job, json: String)] {
        guard let first = parts.first else { return [] }
        guard parts.count > 1 else {
            let added = try await add(first, newest, daemon)
            progress.advance(by: added.count)
            return added
        }
        let requests = parts.map { ApplyJobs(add: $0.map(\.definition)) }
        let upload = try JobUpload(requests, to: daemon)
        try await upload.send(progress) { sentence($1, parts[$0], list: "add") }
        let all = parts.flatMap(\.self)
        let ids = try await upload.apply(ifNoNewer: newest) {
            sentence($0, all, list: "add")
        }.added
        let jobs = Dictionary(
            try await live(daemon).own.map { ($0.id, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        return try ids.compactMap { jobs[$0] }.map {
            ($0, try JSONValue(encoding: $0).jsonLine)
        }
    }

    /// Adds as many jobs as one request holds.
    private func add(
        _ jobs: [ImportedJob],
        _ newest: NewestTagged,
        _ daemon: Daemon
    ) async throws(Failure) -> [(job: Job, json: String)] {
        do {
            let request = ApplyJobs(add: jobs.map(\.definition), ifNoNewer: newest)
            let answer = try await daemon.ask(.applyJobs(request), for: ApplyReply.self)
            let lines = answer.jsonLines("added").split(separator: "\n").map { "\($0)\n" }
            return zip(answer.value.added, lines).map { ($0, $1) }
        } catch {
            // The daemon's "add[3]: ..." is replaced by the job's line in the source.
            throw error.saying(sentence(error.message, jobs, list: "add"))
        }
    }

    /// The jobs in as few parts as the daemon's limits allow: a line of theirs is bounded.
    private static func parts(of jobs: [ImportedJob]) throws -> [[ImportedJob]] {
        // The rest of the line is for what stands around the jobs.
        let limit = Limits.line - 4096
        var parts: [[ImportedJob]] = []
        var room = 0
        for job in jobs {
            let size = try JSONValue(encoding: job.definition).jsonBytes.count + 1
            if parts.isEmpty || size > room || parts[parts.count - 1].count == Limits.jobs {
                parts.append([])
                room = limit
            }
            parts[parts.count - 1].append(job)
            room -= size
        }
        return parts
    }

    /// Removes jobs that were added; returns what is to be said of those that stay, "" if none does.
    private func remove(_ ids: [JobID]) async -> String {
        var left = ids[...]
        if left.isEmpty { return "" }
        do throws(Failure) {
            let daemon = try await Daemon.connect(options.common)
            while !left.isEmpty {
                let part = Array(left.prefix(Limits.jobs))
                let request = Request.invalidateJobs(InvalidateJobs(.ids(part)))
                _ = try await daemon.ask(request, for: JobsReply.self)
                left = left.dropFirst(part.count)
            }
            return ""
        } catch {
            let jobs =
                left.count == 1
                ? "1 job that was added stays" : "\(left.count) jobs that were added stay"
            return
                "; \(jobs), for the removal failed (\(error.message)); importing again skips what is there"
        }
    }

    private func sentence(_ message: String, _ jobs: [ImportedJob], list: String) -> String {
        for (index, job) in jobs.enumerated() {
            let prefix = "\(list)[\(index)]: "
            if message.hasPrefix(prefix) {
                return "\(job.place): \(message.dropFirst(prefix.count))"
            }
        }
        return message
    }

    /// Live jobs of the owners of the source's jobs, and of the caller.
    private struct Live {
        /// Of this source.
        var own: [Job] = []
        /// Of other crontabs; those of a crontab's lines may be among them.
        var others: [Job] = []
    }

    private func live(_ daemon: Daemon) async throws(Failure) -> Live {
        let owners = Set(plan.jobs.map(\.owner) + [.current])
        var live = Live()
        for var request in Self.requests(plan.tag, of: owners, caller: .current) {
            repeat {
                let page = try await daemon.ask(.listJobs(request), for: JobsReply.self).value
                for job in page.jobs where owners.contains(where: { $0.owns(job) }) {
                    let tags = job.definition.tags ?? []
                    if tags.contains(where: { $0.utf8.elementsEqual(plan.tag.utf8) }) {
                        live.own.append(job)
                    } else if tags.contains(where: { $0.hasPrefix(CrontabJobs.tagPrefix) }) {
                        live.others.append(job)
                    }
                }
                request.cursor = page.cursor
            } while request.cursor != nil
        }
        live.own.sort { $0.id < $1.id }
        live.others.sort { $0.id < $1.id }
        return live
    }

    /// The lists that have the jobs of these users which came from the source, or from another crontab.
    ///
    /// The tags of other crontabs are not known: then all jobs of the users are looked at, and root, who is shown everybody's,
    /// asks for those of each.
    static func requests(
        _ tag: String,
        of owners: Set<LocalUser>,
        caller: LocalUser
    ) -> [ListJobs] {
        var request = ListJobs()
        request.limit = Limits.page
        guard tag.hasPrefix(CrontabJobs.tagPrefix) else {
            request.tag = tag
            return [request]
        }
        guard caller.uid == 0 else { return [request] }
        // Two names may have one uid: a job that was listed twice would be two.
        return Set(owners.map(\.uid)).sorted().map {
            request.owner = "\($0)"
            return request
        }
    }

    /// The jobs of a daemon's client, each named after its command, with a number if another job has that name.
    private func named(
        _ jobs: [ImportedJob],
        _ daemon: Daemon
    ) async throws(Failure) -> [ImportedJob] {
        var jobs = jobs
        let names = try await daemon.freeNames(jobs.map(\.definition.name))
        for (index, name) in names.enumerated() { jobs[index].definition.name = name }
        return jobs
    }

    // MARK: - Showing

    func preview() async throws {
        let now = Timestamp.now
        var daemon: Daemon?
        do throws(Failure) {
            daemon = try await Daemon.connect(options.common)
        } catch {
            Output.complain("note: new dates are computed here, for no daemon answers")
        }
        let live = if let daemon { try await live(daemon) } else { Live() }
        let comparison = ImportComparison(of: plan.jobs, with: live.own, others: live.others)
        tell(of: comparison)
        let (jobs, source) = (comparison.named(plan.jobs), daemon)
        var previews = try await Progress.show("asking for dates", of: jobs.count) { progress in
            var previews: [JobPreview] = []
            for job in jobs {
                previews.append(try await JobPreview(of: job, at: now, by: source))
                progress.advance()
            }
            return previews
        }
        var there = Dictionary(
            comparison.present.map { ($0.job.key, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        for index in previews.indices where !there.isEmpty {
            previews[index].there = there.removeValue(forKey: previews[index].job.key)
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

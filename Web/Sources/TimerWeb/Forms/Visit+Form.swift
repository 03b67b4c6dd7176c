// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

extension Visit {
    /// The form, empty, or as an address or the job that is changed says.
    func form(changing id: JobID?, _ session: Session) async throws -> JobForm {
        let job = try await id.mapAsync { try await changeable($0, session.client) }
        // One that ends while its form is filled in is refused by the daemon, and the form stays.
        if let job, !job.state.isLive {
            throw ControlError(
                .conflict,
                "job \(job.id) has ended; only a job that is scheduled or paused can be changed"
            )
        }
        let draft =
            job.map { JobDraft($0.restated, zone: dates.zone) }
            ?? JobDraft(link.query, zone: dates.zone)
        return try await form(draft, job, session.client)
    }

    /// The form of a job as it was filled in, in place of one that was made before this program was started; nil for
    /// others, in which nothing is typed.
    ///
    /// Behind a proxy alone: on a port who was let in by another start is not let in.
    func again(_ route: Route) async throws -> Answer? {
        guard site.access.isProxied else { return nil }
        return switch route {
        case .add: try await carryOutForm(changing: nil, isStale: true)
        case .change(let id): try await carryOutForm(changing: id, isStale: true)
        default: nil
        }
    }

    /// What a form has sent: tried, or carried out.
    ///
    /// `isStale`: whether it lacks this program's key. Then it is not carried out.
    func carryOutForm(changing id: JobID?, isStale: Bool = false) async throws -> Answer {
        let outcome = try await site.daemon.connected { session -> FormOutcome in
            let client = session.client
            let job = try await id.mapAsync { try await changeable($0, client) }
            let isSaved = field("do") != "preview"
            let draft = JobDraft(self.form, zone: dates.zone)
            let form = try await self.form(draft, job, client, isSaved: isSaved)
            if isSaved && isStale {
                var errors = form.errors
                errors.add(nil, "the page was started anew meanwhile: send the form once more")
                return .again(form.refused(errors), session.status)
            }
            guard isSaved, form.errors.isEmpty else { return .again(form, session.status) }
            do {
                let (saved, notes) = try await save(form, client)
                let leftOut = [form.leftOutWords].compactMap(\.self)
                return .done(saved, before: job, notes: leftOut + notes)
            } catch let error as ControlError {
                var errors = form.errors
                errors.add(error)
                return .again(form.refused(errors), session.status)
            }
        }
        switch outcome {
        case .done(let job, let before, let notes):
            return redirect(to: Link("jobs", "\(job.id)"), flash(of: job, before, notes))
        case .again(let form, let status):
            let page = form.page
            return .page(page.status, document(page, status))
        }
    }

    /// - Throws: `ControlError` `conflict` for a job that a form would not change but replace.
    private func changeable(_ id: JobID, _ client: ControlClient) async throws -> Job {
        let job = try await client.job(.id(id))
        if let reason = job.reasonNotToChange { throw ControlError(.conflict, reason) }
        return job
    }

    private enum FormOutcome: Sendable {
        /// With the job as it was; nil for a new one. `notes`: what the change has left out, and what the daemon says of it.
        case done(Job, before: Job?, notes: [String])
        /// The form again: it was only tried, or something is wrong.
        case again(JobForm, StatusReply)
    }

    private func form(
        _ draft: JobDraft,
        _ job: Job?,
        _ client: ControlClient,
        isSaved: Bool = false
    ) async throws -> JobForm {
        let drafted = draft.definition(changing: job?.restated, dates)
        let definition = drafted.definition
        var errors = drafted.errors
        let runs = try await job.mapAsync {
            try await NewestRuns(of: $0.id, atMost: RunTimes.most, at: dates.now, client)
        }
        let preview = SchedulePreview(
            definition,
            of: job,
            RunTimes(runs?.come ?? []),
            dates,
            without: runs.map { $0.come + $0.dropped } ?? []
        )
        // An empty form is not wrong yet.
        if let error = preview.error, !draft[.schedule].isEmpty || isSaved {
            errors.add(error.contains("zone '") || error.contains("'tz'") ? .tz : .schedule, error)
        }
        if let taken = try await taken(definition.name, by: job, client) {
            errors.add(.name, taken)
        }
        return JobForm(
            parts: Parts(self),
            job: job,
            draft: draft,
            definition: definition,
            leftOut: drafted.leftOut,
            errors: errors,
            preview: preview,
            isRefused: isSaved && !errors.isEmpty
        )
    }

    /// Why a name cannot be had; nil where it can.
    private func taken(
        _ name: String?,
        by job: Job?,
        _ client: ControlClient
    ) async throws -> String? {
        guard let name, name != job?.definition.name else { return nil }
        var request = ListJobs()
        request.name = name
        let others: [Job]
        do {
            others = try await client.listJobs(request).jobs
        } catch is ControlError {
            // A name that cannot be one: it is told when the job is added.
            return nil
        }
        let own = others.first { $0.owner == site.user && $0.id != job?.id }
        return own.map { "the name '\(name)' belongs to another live job, \($0.id)" }
    }

    private func save(_ form: JobForm, _ client: ControlClient) async throws -> (
        Job, notes: [String]
    ) {
        guard let job = form.job else {
            let reply = try await client.addJob(form.definition)
            return (reply.job, reply.notes ?? [])
        }
        let revision = field("revision").flatMap { Int64($0) } ?? job.revision
        let change = JobRevision(id: job.id, definition: form.definition, ifRevision: revision)
        let reply = try await client.applyJobs(ApplyJobs(change: [change]))
        guard let changed = reply.changed.first else {
            throw ControlError(.conflict, "job \(job.id) was not changed")
        }
        return (changed, reply.notes ?? [])
    }

    private func flash(of job: Job, _ before: Job?, _ notes: [String]) -> Flash {
        let next =
            job.nextFire.map { "; it fires next \(dates.distance($0)), \(dates.short($0))" } ?? ""
        return .done(
            group {
                Parts(self).jobSentence(job.definition.name, job.id)
                " was \(before == nil ? "added" : "changed")\(job.state == .scheduled ? next : "")."
                for note in notes { " \(note.asSentence)" }
                before.flatMap { Revert.obstacle(from: $0.definition, to: job.definition) }
                    .map { words in " \(words.asSentence)" }
            },
            undo: before.map { Revert(of: job, to: $0).undo }
                ?? Flash.Undo(
                    label: "Undo",
                    action: Link("jobs", "\(job.id)", "end"),
                    fields: [Link.Field("revision", "\(job.revision)")]
                )
        )
    }
}

extension JobForm {
    /// The same with what the daemon has found wrong.
    fileprivate func refused(_ errors: FormErrors) -> Self {
        var form = self
        (form.errors, form.isRefused) = (errors, true)
        return form
    }
}

extension Optional {
    func mapAsync<Value>(
        _ transform: (Wrapped) async throws -> Value
    ) async rethrows -> Value? {
        guard let self else { return nil }
        return try await transform(self)
    }
}

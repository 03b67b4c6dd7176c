// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl

extension Visit {
    /// Asks, and then does something with all jobs that were chosen.
    func actOnJobs() async throws -> Answer {
        // The list's own address: "?q=&tag=".
        let query = JobQuery(PercentCoding.fields((field("query") ?? "").drop { $0 == "?" }) ?? [])
        guard let action = field("do").flatMap(BulkAction.init) else {
            return redirect(to: query.link, .refused("nothing was chosen to be done"))
        }
        if let mistake = query.mistakes.first {
            return redirect(to: Link("jobs"), .refused(mistake))
        }
        do {
            if field("confirmed") == nil { return try await question(action, query) }
            let chosen = fields("ids").flatMap { $0.split(separator: ",") }.compactMap { JobID($0) }
            guard !chosen.isEmpty else {
                return redirect(to: query.link, .refused("no job was chosen"))
            }
            guard chosen.count <= action.most else {
                return redirect(to: query.link, tooMany(chosen.count, for: action))
            }
            let dates = shownDates(chosen)
            let outcome = try await site.daemon.connected { session in
                try await action.carryOut(chosen, dates: dates, session.client)
            }
            return redirect(to: query.link, flash(of: action, outcome, chosen.count))
        } catch let error as ControlError {
            return redirect(to: query.link, .refused(error.message))
        }
    }

    private func tooMany(_ count: Int, for action: BulkAction) -> Flash {
        .refused("\(count) jobs were chosen; at most \(action.most) are accepted")
    }

    /// The next dates that the jobs of a form had when it was made.
    private func shownDates(_ ids: [JobID]) -> [JobID: Timestamp] {
        let dates = (field("from") ?? "").split(separator: ",").map { Timestamp(rfc3339: "\($0)") }
        return zip(ids, dates).reduce(into: [:]) { $0[$1.0] = $1.1 }
    }

    private func flash(of action: BulkAction, _ outcome: BulkOutcome, _ chosen: Int) -> Flash {
        guard outcome.count > 0 else {
            let already = chosen - outcome.missing - outcome.refusals.count
            let reasons = [
                already == 0 ? nil : "\(already.of("job")) \(action.done(already == 1)) already",
                outcome.others,
            ]
            return .refused(
                (outcome.refusals.isEmpty ? "nothing is to be done: " : "nothing was done: ")
                    + reasons.compactMap(\.self).joined(separator: ", ")
            )
        }
        let undo = action.opposite.map { opposite in
            Flash.Undo(
                label: "Undo",
                action: Link("jobs", "act"),
                fields: [
                    Link.Field("do", opposite.rawValue), Link.Field("confirmed", "1"),
                    Link.Field("query", field("query") ?? ""),
                    Link.Field("ids", outcome.undoable.map(\.description).joined(separator: ",")),
                ]
            )
        }
        let others = outcome.others.map { "; \($0)" } ?? ""
        return Flash(
            kind: outcome.isWhole ? .ok : .failed,
            content: "\(outcome.count.of("job")) \(action.done(outcome.count == 1))\(others).",
            undo: outcome.undoable.isEmpty ? nil : undo
        )
    }

    private func question(_ action: BulkAction, _ query: JobQuery) async throws -> Answer {
        let (chosen, missing, status) = try await site.daemon.connected { session in
            let (chosen, missing) = try await self.chosen(query, session.client)
            return (chosen, missing, session.status)
        }
        let jobs = chosen.filter(action.changes)
        guard !jobs.isEmpty else {
            let reason =
                chosen.isEmpty
                ? BulkOutcome.notFound(missing) ?? "no job was chosen"
                : "nothing is to be done: of \(chosen.count.of("job")) that \(chosen.count == 1 ? "was" : "were") "
                    + "chosen none is \(action.changed)"
            return redirect(to: query.link, .refused(reason))
        }
        guard jobs.count <= action.most else {
            return redirect(to: query.link, tooMany(jobs.count, for: action))
        }
        let count = jobs.count.of("job")
        let question = Question(
            title: "\(action.verb) \(count)?",
            heading: "\(action.verb) \(count)?",
            content: group {
                p { action.sentence }
                action.warning(of: jobs).map { words in p { words } }
                if jobs.count < chosen.count {
                    p {
                        "\(chosen.count - jobs.count) of the \(chosen.count) that were chosen "
                        chosen.count - jobs.count == 1
                            ? "stays as it is: it is not " : "stay as they are: none of these is "
                        "\(action.changed)."
                    }
                }
                BulkOutcome.notFound(missing).map { words in p { "\(words)." } }
                ul {
                    for job in jobs.prefix(20) { li { Parts(self).jobName(job) } }
                    if jobs.count > 20 { li { "and \((jobs.count - 20).grouped) more" } }
                }
            },
            action: Link("jobs", "act"),
            fields: [
                Link.Field("do", action.rawValue), Link.Field("confirmed", "1"),
                Link.Field("query", field("query") ?? ""),
                // As they were found: what comes to match later is not meant.
                Link.Field("ids", jobs.map { "\($0.id)" }.joined(separator: ",")),
            ] + (action == .skip ? [shown(jobs)] : []),
            button: "\(action.verb) \(count)",
            isDangerous: action == .end,
            cancel: query.link
        )
        return .page(document(question.page(self, in: .jobs), status))
    }

    /// The next dates of jobs, which may move, be dropped or fire before the form is sent.
    private func shown(_ jobs: [Job]) -> Link.Field {
        Link.Field("from", jobs.compactMap { $0.fireDate?.rfc3339 }.joined(separator: ","))
    }

    /// Those whose boxes were ticked, or all that the list's address means; and how many there are not.
    private func chosen(
        _ query: JobQuery,
        _ client: ControlClient
    ) async throws -> (jobs: [Job], missing: Int) {
        if field("all") != nil {
            return (try await JobReader(client: client, query: query).all(), 0)
        }
        let ids = fields("id").compactMap { JobID($0) }
        // A page of the list has no more boxes.
        guard ids.count <= JobReader.rows else {
            throw ControlError(
                .limitReached,
                "\(ids.count) jobs were chosen by their boxes; at most \(JobReader.rows) are accepted"
            )
        }
        let found = try await client.jobs(ids) { $0 }
        let jobs = ids.compactMap { found[$0] }
        return (jobs, ids.count - jobs.count)
    }
}

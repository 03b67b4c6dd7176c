// SPDX-License-Identifier: Apache-2.0

import HTML
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
            let (ids, missing, count) = try await site.daemon.connected { session in
                let (ids, missing) = try await action.changed(chosen, session.client)
                // Of none the daemon would take all.
                let count = ids.isEmpty ? 0 : try await action.carryOut(ids, session.client)
                return (ids, missing, count)
            }
            guard !ids.isEmpty else {
                let found = chosen.count - missing
                let reasons = [
                    found == 0 ? nil : "\(found.of("job")) \(action.done(found == 1)) already",
                    Self.notFound(missing),
                ]
                return redirect(
                    to: query.link,
                    .refused(
                        "nothing is to be done: "
                            + reasons.compactMap(\.self).joined(separator: ", ")
                    )
                )
            }
            let undo = action.opposite.map { opposite in
                Flash.Undo(
                    label: "Undo",
                    action: Link("jobs", "act"),
                    fields: [
                        Link.Field("do", opposite.rawValue), Link.Field("confirmed", "1"),
                        Link.Field("query", field("query") ?? ""),
                        Link.Field("ids", ids.map(\.description).joined(separator: ",")),
                    ]
                )
            }
            let others = Self.notFound(missing).map { "; \($0)" } ?? ""
            return redirect(
                to: query.link,
                .done("\(count.of("job")) \(action.done(count == 1))\(others).", undo: undo)
            )
        } catch let error as ControlError {
            return redirect(to: query.link, .refused(error.message))
        }
    }

    private func tooMany(_ count: Int, for action: BulkAction) -> Flash {
        .refused("\(count) jobs were chosen; at most \(action.most) are accepted")
    }

    /// Said of jobs that are not there, or another user's; nil for none.
    private static func notFound(_ count: Int) -> String? {
        count == 0 ? nil : "\(count.of("job")) \(count == 1 ? "was" : "were") not found"
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
                ? Self.notFound(missing) ?? "no job was chosen"
                : "nothing is to be done: none of the \(chosen.count.of("job")) that were chosen is "
                    + (action == .pause ? "scheduled" : "paused")
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
                if action == .fire {
                    let last = jobs.count(where: \.endsWithFire)
                    p {
                        last == 0
                            ? "Their other dates stay."
                            : "\(last) of them \(last == 1 ? "has" : "have") no other date, and \(last == 1 ? "is" : "are") finished with that."
                    }
                }
                if jobs.count < chosen.count {
                    p {
                        "\(chosen.count - jobs.count) of the \(chosen.count) that were chosen "
                        chosen.count - jobs.count == 1 ? "stays as it is." : "stay as they are."
                    }
                }
                Self.notFound(missing).map { words in p { "\(words)." } }
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
            ],
            button: "\(action.verb) \(count)",
            isDangerous: action == .end,
            cancel: query.link
        )
        return .page(document(question.page(self, in: .jobs), status))
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
        let found = try await JobReader.read(ids, client) { $0 }
        let jobs = ids.compactMap { found[$0] }
        return (jobs, ids.count - jobs.count)
    }
}

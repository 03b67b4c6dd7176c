// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

extension Visit {
    /// Does something with one job, and says what became of it.
    func carryOut(_ action: JobAction, _ id: JobID) async throws -> Answer {
        let page = Link("jobs", "\(id)")
        do {
            let flash = try await site.daemon.connected { session -> Flash in
                try await self.flash(of: action, id, session.client)
            }
            return redirect(to: page, flash)
        } catch let error as ControlError where error.reason != .notFound {
            return redirect(to: page, .refused(error.message))
        } catch let error as ScheduleError {
            return redirect(to: page, .refused(error.message))
        }
    }

    private func flash(
        of action: JobAction,
        _ id: JobID,
        _ client: ControlClient
    ) async throws -> Flash {
        let jobs = JobSelection.ids([id])
        func undo(_ label: String, _ action: JobAction, _ fields: [Link.Field] = []) -> Flash.Undo {
            Flash.Undo(label: label, action: Link("jobs", "\(id)", action.rawValue), fields: fields)
        }
        switch action {
        case .fire:
            let reply = try await client.fireJob(.id(id))
            return .done(sentence(reply.job, " was fired."))
        case .pause:
            let before = try await client.job(.id(id))
            guard before.state != .paused || before.maintenance else {
                return .done(sentence(before, " was paused already."))
            }
            let job = try await one(client.pauseJobs(jobs), id)
            guard !before.maintenance else {
                return .done(sentence(job, " stays paused when the maintenance ends."))
            }
            return .done(
                sentence(job, " is paused: no date fires until it is resumed."),
                undo: undo("Undo", .resume)
            )
        case .resume:
            let before = try await client.job(.id(id))
            guard before.state != .scheduled else {
                return .done(sentence(before, " was resumed already."))
            }
            let job = try await one(client.resumeJobs(jobs), id)
            return .done(
                sentence(
                    job,
                    before.maintenance
                        ? " goes on while the maintenance does\(next(job))."
                        : " goes on\(next(job))."
                ),
                undo: before.maintenance ? nil : undo("Undo", .pause)
            )
        case .skip:
            let count = try number("count") ?? 1
            let skip = SkipJobs(jobs: jobs, count: count, from: shownDate)
            let job = try await one(client.skipJobs(skip), id)
            return .done(
                sentence(job, ": \(count.of("date was", "dates were")) dropped\(next(job)).")
            )
        case .move:
            // Read here: the daemon would read the words by its own clock.
            let (to, note) = try DateExpression.parse(
                field("to") ?? "",
                now: dates.now,
                zone: dates.zone
            )
            let before =
                if let shownDate { shownDate } else { try await client.job(.id(id)).fireDate }
            let job = try await client.setFireDate(of: .id(id), to: to.rfc3339, from: before).job
            // Both are to be there: what somebody moves in between stays.
            let undone = [("to", before), ("from", job.fireDate)].compactMap { name, date in
                date.map { Link.Field(name, $0.rfc3339) }
            }
            return .done(
                sentence(
                    job,
                    " \(job.state == .paused ? "is due" : "fires next") \(dates.distance(to)), \(dates.short(to))"
                        + (job.state == .paused ? ", and fires once it is resumed." : ".")
                        + (note.map { " \($0.asSentence)" } ?? "")
                ),
                undo: undone.count == 2 ? undo("Undo", .move, undone) : nil
            )
        case .end:
            let before = try await client.job(.id(id))
            let reply: JobsReply
            if let shown = try number("revision") {
                // The undo of an add: what somebody has changed since stays.
                let change = ApplyJobs(invalidate: [id], ifRevisions: [id: Int64(shown)])
                reply = JobsReply(jobs: try await client.applyJobs(change).invalidated)
            } else {
                // Also of one that has ended: it may have a run in progress, or an attempt to come.
                reply = try await client.invalidateJobs(jobs, kill: field("kill") != nil)
            }
            let job = try one(reply, id)
            // Also of one that somebody has ended since.
            let runs = field("kill") == nil ? "" : " What of it was running is told to end."
            guard before.state.isLive else {
                return .done(
                    sentence(
                        job,
                        (before.state == .finished && job.state == .invalidated
                            ? " is ended: nothing of its last fire begins any more."
                            : " had ended already.") + runs
                    )
                )
            }
            return .done(
                sentence(job, " is ended: it fires no more. Its history stays.\(runs)"),
                undo: undo("Undo", .undo)
            )
        case .undo:
            let job = try await one(client.restoreJobs(jobs), id)
            return .done(sentence(job, " lives again\(next(job))."))
        case .revert:
            let (job, dateStays, notes) = try await Revert(id, self)
                .carryOut(client, now: dates.now)
            let said = notes.map { " \($0.asSentence)" }.joined()
            let stays = dateStays.map { " Its next date is not set back: \($0)." } ?? ""
            return .done(
                sentence(job, " is what it was before its change\(next(job)).\(stays)\(said)")
            )
        }
    }

    /// The next date that the job had when the form was made.
    private var shownDate: Timestamp? { field("from").flatMap { Timestamp(rfc3339: $0) } }

    private func one(_ reply: JobsReply, _ id: JobID) throws -> Job {
        guard let job = reply.jobs.first else {
            throw ControlError(.conflict, "job \(id) was not changed")
        }
        return job
    }

    private func next(_ job: Job) -> String {
        guard job.state == .scheduled, let date = job.nextFire else { return "" }
        return "; it fires next \(dates.distance(date)), \(dates.short(date))"
    }

    private func sentence(_ job: Job, _ words: String) -> Node {
        group {
            Parts(self).jobSentence(job.definition.name, job.id)
            words
        }
    }

    /// A number of the form; nil where it was left empty.
    func number(_ name: String) throws(ControlError) -> Int? {
        guard let text = field(name) else { return nil }
        guard let number = Int(text) else {
            throw ControlError(.invalidParams, "'\(name)' is '\(text)', expected a number")
        }
        return number
    }

    // MARK: - Asking first

    /// The page that says what an action will do.
    func question(_ action: JobAction, _ id: JobID, _ session: Session) async throws -> QuestionPage
    {
        // What it was before is in the form alone that undoes it.
        guard action != .revert else { throw NotFound(description: "there is no such page") }
        let job = try await session.client.job(.id(id))
        let open = action == .end ? try await OpenRuns(session, dates.now, of: job) : nil
        let name = Parts(self).jobName(job)
        let page = Link("jobs", "\(id)")
        func question(
            _ verb: String,
            _ button: String,
            choice: Node = .empty,
            isDangerous: Bool = false,
            @Markup content: () -> Node
        ) -> Question {
            Question(
                title: "\(verb) \(job.title)?",
                heading: group {
                    "\(verb) "
                    name
                    "?"
                },
                content: content(),
                action: Link("jobs", "\(id)", action.rawValue),
                choice: choice,
                button: button,
                isDangerous: isDangerous,
                cancel: page
            )
        }
        let asked =
            switch action {
            case .fire:
                question("Fire", "Fire now") {
                    p {
                        job.endsWithFire
                            ? "It fires once, now, and is finished with that. It cannot be undone."
                            : "It fires once, now. Its other dates stay. It cannot be undone."
                    }
                }
            case .pause:
                question("Pause", "Pause it") {
                    p { job.pauseSentence }
                }
            case .resume:
                question("Resume", "Resume it") {
                    p { job.resumeSentence }
                }
            case .undo, .revert:
                question("Restore", "Have it live again") {
                    p { "It is what it was before its end: number, name, history, dates." }
                }
            case .skip:
                question("Skip dates of", "Skip", choice: count(job)) {
                    p {
                        "The next dates are dropped, and have that reason in the history. It cannot be undone; "
                        "a job that is moved back onto such a date fires then."
                    }
                }
            case .move:
                question("Move the next fire of", "Move", choice: moved(job)) {
                    p { "A date such as 'tomorrow 09:00' or '+10min'. It can be undone." }
                }
            case .end:
                question("End", "End it", choice: kill(open), isDangerous: true) {
                    endSentence(job)
                }
            }
        return QuestionPage(asked, self, in: .jobs)
    }

    private func count(_ job: Job) -> Node {
        p {
            Parts(self).seen(job)
            label {
                "How many "
                input(
                    .type("number"),
                    .name("count"),
                    .value("1"),
                    .named("min", 1),
                    .named("max", Limits.skip)
                )
            }
        }
    }

    private func moved(_ job: Job) -> Node {
        p {
            Parts(self).seen(job)
            label {
                "To "
                input(.name("to"), .flag("required"))
            }
        }
    }

    /// All of them are ended, or none.
    private func kill(_ open: OpenRuns?) -> Node {
        guard let open, !open.running.isEmpty else { return .empty }
        let isOne = open.running.count == 1 && !open.hasMoreRunning
        let which = isOne ? "its run in progress" : "all \(open.runningText) runs in progress"
        // Of a part of them the oldest is not known.
        let first = open.hasMoreRunning ? nil : open.running.compactMap(\.startedAt).min()
        let began = first.map {
            ", \(isOne ? "which" : "the first of which") began \(dates.distance($0))"
        }
        return Question.tick(
            "kill",
            "also end \(which)\(began ?? "") (SIGTERM, then SIGKILL)"
        )
    }

    private func endSentence(_ job: Job) -> Node {
        guard job.state.isLive else {
            return p {
                "It has no date to come. What is to come of its last fire, as another attempt, does not begin. "
                "It cannot be undone."
            }
        }
        return p {
            "It fires no more. "
            if let date = job.nextFire, job.state == .scheduled {
                "The next date, "
                Parts(self).when(date)
                ", is dropped. "
            }
            "Its history stays, and you can undo it for 24 hours."
        }
    }
}

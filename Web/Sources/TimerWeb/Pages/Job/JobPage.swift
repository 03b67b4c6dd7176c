// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// All of one job: when it fires, what became of its dates, what it is, what can be done.
struct JobPage {
    private let parts: Parts
    private let job: Job
    private let runs: [Run]
    private let history: JobHistory
    private let facts: JobFacts
    /// Whether something of a fire of it is still to come.
    private let isOpen: Bool

    /// How many of its next dates are shown.
    private static let dates = 5

    init(_ id: JobID, _ visit: Visit, _ session: Session) async throws {
        parts = Parts(visit)
        let client = session.client
        job = try await client.job(.id(id))
        var request = ListRuns()
        request.job = id
        request.limit = JobHistory.bars
        runs = try await client.listRuns(request).runs
        history = JobHistory(job: job, runs: runs, parts: parts)
        facts = JobFacts(job: job, parts: parts)
        isOpen = runs.contains(where: \.isOpen)
    }

    private var dates: LocalDate { parts.dates }
}

extension JobPage: PageContent {
    var page: Page {
        Page(job.title, in: .jobs, watching: .job("\(job.id)")) {
            div(.class("beside")) {
                div {
                    div {
                        div(.class("head"), .data("live", "head")) {
                            h1 { parts.jobName(job) }
                            " "
                            parts.state(job.stateWord)
                            " "
                            span(.class("soft")) { "job \(job.id)" }
                            parts.tags(job.definition)
                        }
                        lead
                    }
                    nextDates
                    history.section
                    facts.section
                }
                aside(.aria("label", "What you can do")) {
                    JobActions(job: job, isOpen: isOpen, parts: parts).section
                }
            }
        }
    }

    private var lead: Node {
        div(.data("live", "lead")) {
            if let sentence = job.scheduleSentence(dates) {
                p(.class("lead")) {
                    "\(verb) "
                    b { sentence }
                    "."
                }
            }
            if let held = job.held {
                p(.class("conflict")) {
                    "It is held: \(held). It fires no date until that is over, and goes on by itself then."
                }
            }
            if job.state == .paused {
                p(.class("conflict")) {
                    job.maintenance
                        ? "It is paused for maintenance, and goes on with its end."
                        : "It is paused: no date fires until it is resumed."
                }
            }
            if let ended = job.endedAt {
                p(.class("conflict")) {
                    "It has ended\(job.endSentence.map { ": \($0)" } ?? "")"
                    isOpen ? "; its last fire is not over. " : ". "
                    parts.when(ended)
                }
            }
            if let conflict = history.times.conflict(job.definition, coming) {
                p(.class("conflict")) { conflict }
            }
        }
    }

    private var verb: String {
        if job.definition.command != nil { return "Runs" }
        return job.definition.queue == nil ? "Fires" : "Hands out a task"
    }

    private var coming: [Timestamp] {
        job.comingDates(dates, atMost: Self.dates, without: runs)
    }

    private var nextDates: Node {
        section(.aria("labelledby", "h-next"), .data("live", "next")) {
            h2(.id("h-next")) { "Next dates" }
            if coming.isEmpty {
                p(.class("empty")) { noDates }
            } else {
                ol(.class("dates")) { coming.map(coming(date:)) }
            }
            if let due = job.dueDate, let date = job.fireDate, due != date {
                p(.class("note")) {
                    "Its date \(dates.short(date)) is put off by \((due - date).length) (jitter)."
                }
            }
            if let note = job.jitterNote(of: coming) {
                p(.class("note")) { note.asSentence }
            }
            if let moved = job.movedFrom {
                p(.class("note")) {
                    "Its next fire was moved away from \(dates.short(moved))."
                }
            }
        }
    }

    private var noDates: String {
        if job.held != nil { return "None while it is held." }
        switch job.state {
        case .paused:
            return job.nextFire.map {
                "None while it is paused; the next one would be \(dates.short($0))."
            } ?? "None."
        case .scheduled:
            return job.definition.schedule.cron == nil ? "None." : "When the machine starts."
        case .finished, .invalidated: return "None: it has ended."
        }
    }

    private func coming(date: Timestamp) -> Node {
        li {
            parts.when(date)
            if let schedule = job.schedule(in: dates.zone),
                let words = ClockChange.words(date, of: schedule, dates)
            {
                " "
                span(.class("shift")) { words }
            }
        }
    }
}

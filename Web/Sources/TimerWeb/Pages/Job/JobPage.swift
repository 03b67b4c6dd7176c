// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// All of one job: when it fires, what became of its dates, what it is, what can be done.
struct JobPage {
    private let parts: Parts
    private let job: Job
    private let runs: NewestRuns
    private let history: JobHistory
    private let facts: JobFacts
    /// What of it runs or waits, however much has happened since that began.
    private let open: OpenRuns
    /// Whether something of a fire of it is still to come.
    private let isOpen: Bool
    private let status: StatusReply
    /// Why what waits does not begin, so far as the daemon tells; nil where nothing waits for that.
    private let wait: String?

    /// How many of its next dates are shown.
    private static let dates = 5

    init(_ id: JobID, _ visit: Visit, _ session: Session) async throws {
        parts = Parts(visit)
        let client = session.client
        status = session.status
        job = try await client.job(.id(id))
        runs = try await NewestRuns(of: id, atMost: JobHistory.bars, at: visit.dates.now, client)
        let shown = runs.shown(atMost: JobHistory.bars)
        history = JobHistory(job: job, runs: shown, parts: parts, status: status)
        facts = JobFacts(job: job, status: status, parts: parts)
        open = try await OpenRuns(session, visit.dates.now, of: job)
        // The daemon does not count tasks among what is open.
        let all = open.all + shown
        isOpen = all.contains(where: \.isOpen)
        var queue: TaskQueue?
        if let name = job.definition.queue, all.contains(where: \.waitsForWorker) {
            queue = try await client.listQueues(owner: job.owner).first { $0.queue == name }
        }
        wait = job.wait(of: all, status, queue, visit.dates)
    }

    private var dates: LocalDate { parts.dates }
}

extension JobPage: PageContent {
    var page: Page {
        // What a fire waits for changes with others' runs.
        Page(
            job.title,
            in: .jobs,
            watching: wait == nil ? .job(job.id) : .all,
            atMost: age
        ) {
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
                    running
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

    private var age: Page.Age? {
        // The fire of a date that has come may begin to wait, or be put off by jitter.
        let hasCome = job.state == .scheduled && job.fireDate.map { $0 <= dates.now } ?? false
        return hasCome || wait != nil
            ? .seconds
            : (open.all + runs.shown(atMost: JobHistory.bars)).map(\.pageAge).youngest
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
            overdue
            wait.map { wait in p(.class("conflict")) { bdi { "A fire of it waits: \(wait)." } } }
        }
    }

    /// A date that has come and of which nothing is known: the dates to come do not tell of it.
    private var overdue: Node {
        guard job.state == .scheduled, job.held == nil, let date = job.nextFire,
            dates.now - date >= .seconds(1)
        else { return .empty }
        let why = job.delay(status, dates)
        return p(.class("conflict")) {
            if job.isOverdue(at: dates.now, status) {
                "It is overdue: its date has come, and has not fired"
                why.map { ": \($0). " } ?? ". "
            } else {
                "Its next date is \(why ?? "not known"). "
            }
            parts.when(date)
        }
    }

    private var running: Node {
        open.isEmpty
            ? section(.id("running"), .data("live", "running"), .flag("hidden"))
            : open.part(parts)
    }

    private var verb: String {
        if job.definition.command != nil { return "Runs" }
        return job.definition.queue == nil ? "Fires" : "Hands out a task"
    }

    private var coming: [Timestamp] {
        job.comingDates(dates, atMost: Self.dates, without: runs.come + runs.dropped)
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
            return job.nextFire.map { date in
                "None while it is paused; "
                    + (date > dates.now
                        ? "the next one would be \(dates.short(date))."
                        : "its date \(dates.short(date)) has passed meanwhile.")
            } ?? "None."
        case .scheduled:
            let isReboot = job.nextFire == nil && job.definition.schedule.cron != nil
            return isReboot ? "When the machine starts." : "None."
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

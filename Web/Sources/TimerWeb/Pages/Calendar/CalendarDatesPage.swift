// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// What a cell of the calendar is made of: what fired, and what will.
struct CalendarDatesPage {
    private let parts: Parts
    private let view: CalendarView
    private let from: Timestamp
    private let before: Timestamp
    private let runs: [Run]
    private let hasMoreRuns: Bool
    private let jobs: [DatesReply.JobDates]
    private let next: JobID?

    private static let rows = 200

    init(_ visit: Visit, _ session: Session) async throws {
        parts = Parts(visit)
        view = CalendarView(visit)
        guard let from = visit.query("from").flatMap({ Timestamp(rfc3339: $0) }),
            let before = visit.query("before").flatMap({ Timestamp(rfc3339: $0) }), from < before
        else {
            throw ControlError(
                .invalidParams,
                "a stretch of time is 'from' a date and 'before' a later one"
            )
        }
        (self.from, self.before) = (from, before)
        var address = AddressReader(visit.link.query, once: [])
        let cursor = address.cursor { JobID($0) }
        if let mistake = (view.mistakes + address.mistakes).first {
            throw ControlError(.invalidParams, mistake)
        }
        (runs, hasMoreRuns) = try await Self.runs(from, before, visit, session.client)
        guard before > visit.dates.now else {
            (jobs, next) = ([], nil)
            return
        }
        var request = ReadDates(from: max(from, visit.dates.now), before: before)
        (request.tag, request.owner) = (view.tag, view.owner)
        request.each = 3
        (jobs, next) = try await ListReader.rows(from: cursor) { start in
            request.cursor = start
            let reply = try await session.client.call(.jobDates(request), as: DatesReply.self)
            return (reply.jobs, reply.cursor)
        }
    }

    /// The runs of the stretch, the newest first.
    private static func runs(
        _ from: Timestamp,
        _ before: Timestamp,
        _ visit: Visit,
        _ client: ControlClient
    ) async throws -> ([Run], Bool) {
        guard from < visit.dates.now else { return ([], false) }
        var request = ListRuns()
        request.since = from
        (request.tag, request.owner) = (visit.query("tag"), visit.query("owner"))
        request.limit = 1000
        // The list begins here: what is due at the end or later is not wanted.
        let end = RunCursor(date: before, fire: FireID(rawValue: 0), run: nil)
        let (found, next) = try await ListReader.rows(rows, from: end) { start in
            request.cursor = start
            let reply = try await client.listRuns(request)
            let shown = reply.runs.filter {
                $0.isShown(visit.dates.now) && $0.fireDate < before
            }
            return (shown, reply.cursor)
        }
        let (across, more) = try await runs(across: from, before, request, client)
        let all = across + found
        return (Array(all.prefix(rows)), all.count > rows || next != nil || more)
    }

    /// The rows of several dates that go on behind the stretch: the list has each by its last one.
    private static func runs(
        across from: Timestamp,
        _ before: Timestamp,
        _ request: ListRuns,
        _ client: ControlClient
    ) async throws -> ([Run], Bool) {
        var request = request
        (request.since, request.outcome) = (before, .skipped)
        let (found, next) = try await ListReader.rows(rows, from: nil) { start in
            request.cursor = start
            let reply = try await client.listRuns(request)
            return (reply.runs.filter { $0.hasDates(from, before: before) }, reply.cursor)
        }
        return (found, next != nil)
    }

    private var dates: LocalDate { parts.dates }
}

extension CalendarDatesPage: PageContent {
    var page: Page {
        Page(title, in: .calendar, atMost: .halfMinute) {
            div(.class("head")) {
                h1 { title }
                " "
                nav(.class("views"), .aria("label", "Go to")) {
                    let span = before - from
                    a(.href(view.dates(from: from - span, before: from)), .named("rel", "prev")) {
                        "← Before"
                    }
                    " "
                    a(.href(view.link(.week, dates.day(from)))) { "Week" }
                    " "
                    a(.href(view.dates(from: before, before: before + span)), .named("rel", "next"))
                    {
                        "After →"
                    }
                }
            }
            if from < dates.now { past }
            if before > dates.now { future }
        }
    }

    private var title: String {
        let isDay =
            dates.day(from) != dates.day(before - .milliseconds(1))
            || before - from > .seconds(3700)
        if isDay { return dates.shortDay(from) }
        return "\(dates.shortDay(from)), \(dates.time(from)) to \(dates.time(before)) "
            + dates.abbreviation(at: from)
    }

    private var past: Node {
        section(.aria("labelledby", "h-past"), .data("live", "past")) {
            div(.class("head under")) {
                h2(.id("h-past")) { "Fired" }
                " "
                span(.class("count")) { hasMoreRuns ? "the last \(runs.count)" : "\(runs.count)" }
            }
            if runs.isEmpty {
                p(.class("empty")) {
                    hasMoreRuns
                        ? "None of the runs that were looked at is of here." : "Nothing was due."
                }
            } else {
                RunTable(parts: parts, runs: runs, title: "Fired").table
            }
        }
    }

    private var future: Node {
        section(.aria("labelledby", "h-plan"), .data("live", "plan")) {
            div(.class("head under")) {
                h2(.id("h-plan")) { "Will fire" }
                " "
                span(.class("count")) { jobs.count.of("job") + (next == nil ? "" : " and more") }
            }
            if jobs.isEmpty {
                p(.class("empty")) {
                    next == nil
                        ? "No job has a date here."
                        : "None of the jobs that were looked at has a date here."
                }
            } else {
                ol(.class("rows")) { jobs.map(row) }
                p(.class("soft")) { "These are the dates of the schedules, without jitter." }
            }
            if let next {
                div(.class("pages")) {
                    a(
                        .href(view.dates(from: from, before: before).with("cursor", "\(next)")),
                        .named("rel", "next")
                    ) { "More" }
                }
            }
        }
    }

    private func row(_ job: DatesReply.JobDates) -> Node {
        li {
            a(.class("name"), .href(Link("jobs", "\(job.job)"))) {
                parts.jobName(job.name, job.job)
            }
            " "
            parts.state(
                StateWord(job.count == 1 ? "will fire" : "\(job.count.grouped) times", .planned)
            )
            " "
            if let first = job.dates.first { parts.when(first) }
        }
    }
}

extension Run {
    /// Whether one of several dates lies there, as the calendar counts them: spread evenly over their time.
    func hasDates(_ from: Timestamp, before: Timestamp) -> Bool {
        guard let last = through, fireDate < before, last >= from else { return false }
        guard let dates, dates > 1, last > fireDate else { return fireDate >= from }
        let gap = Double((last - fireDate).microseconds) / Double(dates - 1)
        // The first one from there on.
        let steps = (Double((from - fireDate).microseconds) / gap).rounded(.up)
        return max(steps, 0) * gap < Double((before - fireDate).microseconds)
    }
}

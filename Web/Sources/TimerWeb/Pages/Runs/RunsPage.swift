// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// What became of dates, of all jobs or of one, the newest first.
struct RunsPage {
    private let parts: Parts
    private let runs: [Run]
    /// The dates ahead that will not fire, the farthest first: a list of the daemon has them before all that has come.
    private let ahead: [Run]
    private let next: String?
    /// What the address says that means nothing.
    private let mistakes: [String]

    private static let rows = 100
    /// How many of the dates ahead are shown.
    private static let shownAhead = 10

    init(_ visit: Visit, _ session: Session) async throws {
        parts = Parts(visit)
        var request = ListRuns()
        var address = AddressReader(visit.link.query, once: Self.filters + ["cursor"])
        var mistakes: [String] = []
        if let since = visit.query("since") {
            do throws(ScheduleError) {
                request.since = try PastDate.parse(since, visit.dates)
            } catch {
                mistakes.append(error.message)
            }
        }
        request.job = address.value("job", expected: "a job's number") { JobID($0) }
        (request.open, request.failed) = (address.flag("open"), address.flag("failed"))
        if request.open != nil, request.failed != nil {
            mistakes.append("'open' and 'failed' are said; one of them is accepted")
        }
        request.outcome = address.word(
            "outcome",
            "outcome",
            of: RunWord.allCases.map(\.rawValue),
            RunWord.init
        )
        request.tag = visit.query("tag")
        request.owner = visit.query("owner")
        request.limit = Self.rows
        // try?: what somebody wrote into the address by hand is told as such.
        request.cursor = address.cursor { try? JSONText(parsing: $0).decoded() }
        mistakes = address.mistakes + mistakes
        var found: (rows: [Run], cursor: RunCursor?) = ([], nil)
        if mistakes.isEmpty {
            do {
                found = try await Self.found(request, visit, session.client)
            } catch let error as ControlError where error.isOfAddress {
                mistakes.append(error.message)
            }
        }
        self.mistakes = mistakes
        let now = visit.dates.now
        runs = found.rows.filter { !$0.isDropped(ahead: now) }
        ahead = found.rows.filter { $0.isDropped(ahead: now) }
        // try?: a cursor of the daemon is JSON.
        next = found.cursor.flatMap { (try? JSONText(encoding: $0))?.text }
    }

    /// The runs of jobs with what is searched for in their names; a number is a job's where there is one, as for timerctl.
    private static func found(
        _ request: ListRuns,
        _ visit: Visit,
        _ client: ControlClient
    ) async throws -> (rows: [Run], cursor: RunCursor?) {
        var request = request
        var name = visit.query("q")?.lowercased()
        if let id = name.flatMap(JobID.init), try await isThere(id, client) {
            (request.job, name) = (id, nil)
        }
        var ahead: [Run] = []
        let found = try await ListReader.rows(rows / 2, from: request.cursor) { [name] start in
            request.cursor = start
            let reply = try await client.listRuns(request)
            let shown = reply.runs.filter { run in
                run.isShown(visit.dates.now)
                    && name.map { (run.name ?? "").lowercased().contains($0) } ?? true
            }
            ahead += shown.filter { $0.isDropped(ahead: visit.dates.now) }
            // What has come is looked for behind them, however many they are.
            return (shown.filter { !$0.isDropped(ahead: visit.dates.now) }, reply.cursor)
        }
        return (ahead + found.rows, found.cursor)
    }

    private static func isThere(_ id: JobID, _ client: ControlClient) async throws -> Bool {
        do {
            _ = try await client.job(.id(id))
            return true
        } catch let error as ControlError where error.reason == .notFound {
            return false
        }
    }
}

extension Run {
    /// Whether its date has come: what is claimed ahead is no run yet.
    func isShown(_ now: Timestamp) -> Bool { state != .claimed || fireDate <= now }
}

extension RunsPage: PageContent {
    private static let filters = ["q", "job", "outcome", "tag", "owner", "since", "failed", "open"]

    /// The address without the page of the list, and with other fields.
    private func link(_ fields: [String: String?] = [:]) -> Link {
        var link = Link("runs")
        for name in Self.filters {
            link = link.with(name, fields[name] ?? parts.visit.query(name))
        }
        return link
    }

    var page: Page {
        Page(
            "Runs",
            in: .runs,
            // A fire begins to wait without an event.
            atMost: (runs.map(\.pageAge) + [.halfMinute]).youngest,
            status: mistakes.status
        ) {
            div(.class("head")) {
                h1 { "Runs" }
                " "
                nav(.class("views"), .aria("label", "Which")) { views }
            }
            filter
            section(.id("list"), .data("live", "list")) {
                if !mistakes.isEmpty {
                    parts.mistaken(mistakes, all: Link("runs"))
                } else if runs.isEmpty, ahead.isEmpty {
                    p(.class("empty")) {
                        next == nil ? "No run matches. " : "None of the newest match. "
                        if let next {
                            a(.href(link().with("cursor", next))) { "Look further back" }
                        }
                        " "
                        a(.href(Link("runs"))) { "Show all" }
                        "."
                    }
                } else {
                    if !runs.isEmpty { RunTable(parts: parts, runs: runs).table }
                    dropped
                    older
                }
            }
        }
    }

    /// The nearest of the dates ahead that will not fire, below what has come.
    private var dropped: Node? {
        guard !ahead.isEmpty else { return nil }
        let shown = Array(ahead.suffix(Self.shownAhead))
        return group {
            h2 { "Will not fire" }
            RunTable(parts: parts, runs: shown, title: "Dates ahead that will not fire").table
            if ahead.count > shown.count {
                p { "\(ahead.count - shown.count) more, farther ahead, will not fire either." }
            }
        }
    }

    private var views: [Node] {
        let isFailed = parts.visit.query("failed") != nil
        let isOpen = parts.visit.query("open") != nil
        let all: [(String, Bool, [String: String?])] = [
            ("All", !isFailed && !isOpen, ["failed": "", "open": ""]),
            ("Failed", isFailed, ["failed": "1", "open": ""]),
            ("In progress", isOpen, ["failed": "", "open": "1"]),
        ]
        return all.flatMap { word, isCurrent, fields -> [Node] in
            [a(.href(link(fields)), isCurrent ? .aria("current", "page") : nil) { word }, " "]
        }
    }

    private var filter: Node {
        form(.class("filter"), .action(Link("runs")), .role("search"), .data("filter", "list")) {
            for name in ["job", "failed", "open"] {
                if let value = parts.visit.query(name) {
                    input(.type("hidden"), .name(name), .value(value))
                }
            }
            label(.class("grow")) {
                "Job "
                input(.type("search"), .name("q"), .value(parts.visit.query("q") ?? ""))
            }
            label {
                "Outcome "
                parts.choice("outcome", Self.outcomes, chosen: parts.visit.query("outcome"))
            }
            label {
                "Tag "
                input(.name("tag"), .value(parts.visit.query("tag") ?? ""))
            }
            label {
                "Since "
                input(
                    .name("since"),
                    .placeholder("yesterday 09:00"),
                    .value(parts.visit.query("since") ?? "")
                )
            }
            button { "Search" }
        }
    }

    private static let outcomes = [
        ("", "any"), ("success", "success"), ("failure", "failure"), ("signalled", "signalled"),
        ("timedOut", "timed out"), ("notStarted", "not started"), ("interrupted", "interrupted"),
        ("skipped", "skipped"), ("fired", "event"),
    ].map { (value: $0.0, word: $0.1) }

    private var older: Node {
        div(.class("pages")) {
            if parts.visit.query("cursor") != nil {
                a(.href(link()), .named("rel", "first")) { "Newest runs" }
                " "
            }
            if let next {
                a(.href(link().with("cursor", next)), .named("rel", "next")) { "Older runs" }
            }
        }
    }
}

/// Runs of several jobs, a row each.
struct RunTable {
    let parts: Parts
    let runs: [Run]
    var title = "Runs"

    var table: Node {
        HTML.table(.class("list")) {
            caption(.class("hush")) { title }
            thead {
                tr {
                    th(.named("scope", "col")) { "What" }
                    th(.named("scope", "col")) { "Job" }
                    th(.named("scope", "col")) { "Date" }
                    th(.named("scope", "col"), .class("num")) { "Took" }
                    th(.named("scope", "col")) { "Why" }
                }
            }
            let inTheWay = RunsInTheWay(runs)
            tbody { runs.map { row($0, besides: inTheWay[$0]) } }
        }
    }

    private func row(_ run: Run, besides: RunID?) -> Node {
        tr {
            td(.class("what")) { parts.state(run) }
            th(.named("scope", "row"), .class("name")) {
                a(.href(Link("jobs", "\(run.job)"))) { parts.jobName(run.name, run.job) }
            }
            td(.class("date")) { parts.when(run.fireDate) }
            td(.class("num"), .data("word", "took")) {
                run.duration(parts.dates.now)?.length ?? ""
            }
            td(.class("why")) { parts.why(run, besides: besides) }
        }
    }
}

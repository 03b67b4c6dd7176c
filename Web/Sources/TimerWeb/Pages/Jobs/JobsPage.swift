// SPDX-License-Identifier: Apache-2.0

import HTML
import TimerControl
import TimerWords

/// Jobs to look through: filters, order, pages, and what may be done with several at once.
struct JobsPage {
    private let parts: Parts
    private let query: JobQuery
    private let part: JobReader.Part
    private let cursor: String?
    /// Of all live jobs, where the daemon tells.
    private let live: Int?
    private let status: StatusReply

    init(_ visit: Visit, _ session: Session) async throws {
        parts = Parts(visit)
        query = JobQuery(visit.link.query)
        cursor = visit.query("cursor")
        part = try await JobReader(client: session.client, query: query).part(at: cursor)
        status = session.status
        live = status.countsWhatIsShown ? status.live : nil
    }

    private var total: Int? { part.total ?? (query.isFiltered ? nil : live) }
}

extension JobsPage: PageContent {
    var page: Page {
        Page("Jobs", in: .jobs, atMost: age, status: query.mistakes.status) {
            div(.class("head")) {
                h1 { "Jobs" }
                " "
                span(.class("count soft"), .data("live", "count"), .aria("live", "polite")) {
                    total.map { $0.of("job") }
                        ?? (part.jobs.isEmpty ? "" : "more than \(part.jobs.count) jobs")
                }
            }
            filter
            section(.id("list"), .data("live", "list")) {
                if part.isCut {
                    p(.class("note")) {
                        "There are more jobs than the \(JobReader.most.grouped) that were looked at."
                    }
                }
                if !query.mistakes.isEmpty {
                    parts.mistaken(query.mistakes, all: Link("jobs"))
                } else if part.jobs.isEmpty {
                    none
                } else {
                    list
                }
            }
        }
    }

    private var age: Page.Age? {
        if part.jobs.contains(where: isLate) { return .seconds }
        return part.jobs.map { $0.last?.pageAge }.youngest
    }

    private func isLate(_ job: Job) -> Bool {
        job.state == .scheduled && job.held == nil
            && job.isOverdue(at: parts.dates.now, status)
    }

    private var none: Node {
        p(.class("empty")) {
            if let next = part.cursor {
                "None of the jobs that were looked at matches. "
                a(.href(query.link.with("cursor", next))) { "Look further" }
                ", or "
            } else if query.isFiltered || cursor != nil {
                "No job matches. "
                a(.href(Link("jobs"))) { "Show all" }
                ", or "
            } else {
                "There is no job yet: "
            }
            a(.href(Link("add"))) { "add one" }
            "."
        }
    }

    private var filter: Node {
        form(.class("filter"), .action(Link("jobs")), .role("search"), .data("filter", "list")) {
            label(.class("grow")) {
                "Name, command or number "
                input(.type("search"), .name("q"), .value(query.text ?? ""))
            }
            label {
                "Tag "
                parts.choice("tag", choices("any", tags), chosen: query.tag)
            }
            label {
                "Owner "
                parts.choice("owner", choices("anybody", owners), chosen: query.owner)
            }
            label {
                "State "
                parts.choice(
                    "state",
                    JobQuery.State.allCases.map { ($0.rawValue, $0.word) },
                    chosen: query.state.rawValue
                )
            }
            if query.order != .next || query.isDescending {
                input(
                    .type("hidden"),
                    .name("sort"),
                    .value(query.fields.first { $0.name == "sort" }?.value ?? "")
                )
            }
            button { "Search" }
        }
    }

    /// What the jobs that are shown have; another one can be had by the address.
    private func choices(_ none: String, _ words: [String]) -> [(value: String, word: String)] {
        [("", none)] + words.map { ($0, $0) }
    }

    private var tags: [String] { Set(part.jobs.flatMap { $0.definition.tags ?? [] }).sorted() }
    private var owners: [String] { Set(part.jobs.map(\.owner)).sorted() }

    private var list: Node {
        form(.method(.post), .action(Link("jobs", "act"))) {
            parts.visit.formKey
            input(.type("hidden"), .name("query"), .value(String(query.link.text.dropFirst(5))))
            table(.class("list")) {
                caption(.class("hush")) { "Jobs" }
                thead { titles }
                tbody { part.jobs.map(row) }
            }
            pages
            bulk
        }
    }

    private var titles: Node {
        tr {
            th(.class("check")) {
                input(
                    .type("checkbox"),
                    .data("all"),
                    .aria("label", "Choose all on this page")
                )
            }
            title("Name", .name)
            title(query.state == .ended ? "Ended" : "Next fire", .next)
            title("Last", .last)
            th(.named("scope", "col")) { "Schedule" }
            th(.named("scope", "col")) { "Command" }
        }
    }

    private func title(_ word: String, _ order: JobQuery.Order) -> Node {
        let isOwn = query.order == order
        return th(
            .named("scope", "col"),
            isOwn ? .aria("sort", query.isDescending ? "descending" : "ascending") : nil
        ) {
            a(.href(query.sorted(by: order).link)) { word }
        }
    }

    private func row(_ job: Job) -> Node {
        tr {
            td(.class("check")) {
                input(
                    .type("checkbox"),
                    .name("id"),
                    .value("\(job.id)"),
                    .aria("label", "Choose \(job.title)")
                )
            }
            th(.named("scope", "row"), .class("name")) {
                a(.href(Link("jobs", "\(job.id)"))) { parts.jobName(job) }
                parts.tags(job.definition)
            }
            td(.class("next"), .data("word", "next")) { next(job) }
            td(.class("last"), .data("word", "last")) { last(job) }
            td(.class("schedule"), .data("word", "when")) {
                job.scheduleSentence(parts.dates) ?? job.definition.schedule.words(parts.dates)
            }
            td(.class("command")) {
                span(.class("clip")) { parts.name(job.action.clipped) }
            }
        }
    }

    private func next(_ job: Job) -> Node {
        group {
            if job.held != nil || job.state != .scheduled {
                parts.state(job.stateWord)
                " "
            }
            if let held = job.held {
                span(.class("soft")) { held }
            } else if let ended = job.endedAt {
                parts.when(ended)
            } else if job.state == .scheduled {
                if let date = job.nextFire {
                    if isLate(job) {
                        parts.state(StateWord("late", .late))
                        " "
                    }
                    parts.when(date)
                } else {
                    span(.class("soft")) { "when the machine starts" }
                }
            }
        }
    }

    private func last(_ job: Job) -> Node {
        guard let run = job.last else {
            return span(.class("soft")) { job.fires > 0 ? "not kept" : "never ran" }
        }
        let word = RunWords(run, parts.dates)
        let isOpen = run.state == .running
        let date = run.endedAt ?? run.firedAt ?? run.through ?? run.fireDate
        return group {
            parts.state(
                isOpen ? StateWord("runs \(word.progress)", .running) : word.state,
                run.id.map { Link("runs", "\($0)") }
            )
            if !isOpen {
                " "
                parts.far(date, "far soft")
            }
        }
    }

    private var pages: Node {
        div(.class("pages")) {
            span(.class("soft")) {
                switch (part.first, total) {
                case (let first?, let total?):
                    "\(first.grouped) to \((first + part.jobs.count - 1).grouped) of \(total.grouped)"
                case (let first?, nil):
                    "\(first.grouped) to \((first + part.jobs.count - 1).grouped)"
                default: part.jobs.count.of("job")
                }
            }
            if cursor != nil {
                " "
                a(.href(query.link), .named("rel", "first")) { "First page" }
            }
            if let next = part.cursor {
                " "
                a(.href(query.link.with("cursor", next)), .named("rel", "next")) { "Next page" }
            }
        }
    }

    private var bulk: Node {
        div(.class("bulk")) {
            if part.cursor != nil || cursor != nil {
                label(.class("tick")) {
                    input(.type("checkbox"), .name("all"), .value("1"))
                    " all\(total.map { " \($0.grouped)" } ?? "") that match"
                }
            }
            for action in BulkAction.allCases where action.isOf(query.state) {
                " "
                button(
                    action == .end ? .class("danger") : nil,
                    .name("do"),
                    .value(action.rawValue),
                    .data("dialog")
                ) { action.word }
            }
            " "
            span(.class("soft"), .data("chosen"))
        }
    }
}

extension String {
    /// What a row of a list has place for: a command may be a script of 60 KiB, and a page has a hundred rows.
    fileprivate var clipped: String {
        let most = 200
        guard let end = index(startIndex, offsetBy: most, limitedBy: endIndex), end < endIndex
        else { return self }
        return self[..<end] + "…"
    }
}

// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// What failed, what runs, what is late, what comes next.
struct NowPage {
    private let parts: Parts
    private let status: StatusReply
    /// The last to end first.
    private let failed: [Run]
    private let hasMoreFailed: Bool
    private let open: OpenRuns
    /// Those that fire next first.
    private let jobs: [Job]
    private let hasMoreJobs: Bool
    /// How many jobs one sees, in all, and in these states; nil for none.
    private let live: String
    private let paused: String?
    private let held: String?
    private let strip: HourStrip

    private static let day = TimeSpan.seconds(86_400)
    private static let rows = 50
    /// How many users in maintenance are named.
    private static let users = 5

    init(_ visit: Visit, _ session: Session) async throws {
        parts = Parts(visit)
        status = session.status
        let now = visit.dates.now
        let client = session.client
        // Sent at once, answered in order.
        async let failedReply = client.listRuns(
            Self.request {
                $0.failed = true
                $0.since = now - Self.day
            }
        )
        async let openReply = OpenRuns(session, now)
        async let jobsReply = client.listJobs(Self.nextJobs)
        async let stripReply = HourStrip(client, visit.dates, visit.site.plan)
        let failed = try await failedReply
        (self.failed, hasMoreFailed) = (failed.runs, failed.cursor != nil)
        open = try await openReply
        let next = try await jobsReply
        (jobs, hasMoreJobs) = (next.jobs, next.cursor != nil)
        live =
            status.countsWhatIsShown
            ? status.live.grouped : next.jobs.count.text(hasMore: next.cursor != nil)
        paused = try await Self.count(status.paused, session) { $0.state = .paused }
        held = try await Self.count(status.held, session) { $0.held = true }
        strip = try await stripReply
    }

    /// How many jobs of a state one sees, of which there are `all` of all users; nil for none.
    private static func count(
        _ all: Int?,
        _ session: Session,
        _ state: (inout ListJobs) -> Void
    ) async throws -> String? {
        guard let all, all > 0 else { return nil }
        if session.status.countsWhatIsShown { return all.grouped }
        var request = ListJobs()
        request.limit = rows
        state(&request)
        let (jobs, next) = try await ListReader.rows(from: nil) { start in
            request.cursor = start
            let reply = try await session.client.listJobs(request)
            return (reply.jobs, reply.cursor)
        }
        return jobs.isEmpty ? nil : jobs.count.text(hasMore: next != nil)
    }

    private static func request(_ change: (inout ListRuns) -> Void) -> ListRuns {
        var request = ListRuns()
        request.limit = rows
        change(&request)
        return request
    }

    private static var nextJobs: ListJobs {
        var request = ListJobs()
        request.order = .nextFire
        request.limit = rows
        return request
    }

    /// Jobs whose date has come, and nothing of it yet.
    private var late: [Job] {
        jobs.filter { job in
            job.state == .scheduled && job.held == nil
                && job.isOverdue(at: parts.dates.now, status)
        }
    }

    private var next: [Job] {
        let late = Set(late.map(\.id))
        return jobs.filter { $0.state == .scheduled && $0.nextFire != nil && !late.contains($0.id) }
    }

    private var hasMoreLate: Bool { hasMoreJobs && late.count == jobs.count }
}

extension NowPage: PageContent {
    var page: Page {
        Page("Now", in: .now, atMost: age) {
            div(.class("head")) {
                h1 { "Now" }
                ul(.class("counts"), .data("live", "counts")) { counts }
            }
            trouble
            maintenance
            strip.figure(parts)
            div(.class("pair")) {
                div {
                    failedPart
                    latePart
                }
                div {
                    open.part(parts)
                    nextPart
                }
            }
        }
    }

    private var age: Page.Age {
        // A late job's fire may begin to wait.
        if !late.isEmpty { return .seconds }
        return (open.all + failed).compactMap(\.pageAge).min() ?? .halfMinute
    }

    /// Why nothing is stored, or no command begins.
    private var trouble: Node {
        let all = [
            status.unwritable, status.runner?.wait(parts.dates, on: status.node?.name),
        ].compactMap(\.self)
        return div(.data("live", "trouble"), .flag("hidden", all.isEmpty)) {
            for words in all {
                p(.class("conflict")) {
                    bdi { words.asSentence }
                    " "
                    a(.href(Page.Section.doctor.link)) { "What to do" }
                    "."
                }
            }
        }
    }

    /// Who is in maintenance: why jobs have no date to come.
    private var maintenance: Node {
        let all = status.maintenance ?? []
        func isVisitor(_ maintenance: StatusReply.Maintenance) -> Bool {
            maintenance.owner == parts.visit.site.user
        }
        let others = all.filter { !isVisitor($0) }
        let shown = (all.filter(isVisitor) + others).prefix(Self.users)
        let rest = all.count - shown.count
        return div(.data("live", "maintenance"), .flag("hidden", all.isEmpty)) {
            for maintenance in shown {
                let isOwn = isVisitor(maintenance)
                p(.class("conflict")) {
                    bdi { isOwn ? "You" : maintenance.owner }
                    isOwn
                        ? " are in maintenance: your jobs are paused until "
                        : " is in maintenance: that user's jobs are paused until "
                    code { MaintenanceEnd.command(of: isOwn ? nil : maintenance.owner) }
                    ". "
                    parts.when(maintenance.since)
                }
            }
            if rest > 0 {
                p(.class("conflict")) {
                    "\(rest.of("other user is", "other users are")) in maintenance, whom "
                    code { "timerctl status" }
                    " names."
                }
            }
        }
    }

    private var counts: [Node] {
        func count(_ text: String, _ words: String, _ link: Link) -> Node {
            li {
                a(.href(link)) {
                    b { text }
                    " \(words)"
                }
            }
        }
        func none(_ words: String) -> Node { li(.class("none")) { words } }
        let here = parts.visit.link.path
        func on(_ part: String) -> Link { Link(path: here, fragment: part) }
        var all = [
            failed.isEmpty
                ? none("nothing failed in the last day")
                : count(
                    failed.count.text(hasMore: hasMoreFailed),
                    "failed in the last day",
                    on("failed")
                ),
            open.isEmpty
                ? none("nothing runs") : count(open.runningText, "running", on("running")),
        ]
        if let waiting = open.waitingText {
            all.append(count(waiting, "waiting", on("running")))
        }
        if !late.isEmpty {
            all.append(count(late.count.text(hasMore: hasMoreLate), "late", on("late")))
        }
        all.append(count(live, live == "1" ? "job" : "jobs", Link("jobs")))
        if let paused {
            all.append(count(paused, "paused", Link("jobs").with("state", "paused")))
        }
        if let held { all.append(count(held, "held", Link("jobs").with("state", "held"))) }
        return all
    }

    private var failedPart: Node {
        parts.part(
            "failed",
            "Failed in the last day",
            count: failed.isEmpty ? "" : failed.count.text(hasMore: hasMoreFailed),
            more: a(.class("more"), .href(Link("runs").with("failed", "1"))) { "All failures" }
        ) {
            if failed.isEmpty {
                p(.class("empty")) {
                    "Nothing failed since \(parts.dates.short(parts.dates.now - Self.day))."
                }
            } else {
                ol(.class("rows")) { failed.map(failedRow) }
                p(.class("soft")) { "Fire now: once, now; its schedule stays. Cannot be undone." }
            }
        }
    }

    private func failedRow(_ run: Run) -> Node {
        parts.row(
            run.name,
            run.job,
            parts.state(run),
            run.endedAt ?? run.fireDate,
            run.handlerWords == nil
                ? parts.act(
                    Link("jobs", "\(run.job)", "fire"),
                    "Fire now",
                    "Fire \(run.name ?? "job \(run.job)") now"
                ) : .empty
        )
    }

    private var latePart: Node {
        guard !late.isEmpty else {
            return section(.id("late"), .data("live", "late"), .flag("hidden"))
        }
        return parts.part("late", "Late", count: late.count.text(hasMore: hasMoreLate)) {
            ol(.class("rows")) {
                for job in late {
                    if let date = job.nextFire {
                        parts.row(
                            job.definition.name,
                            job.id,
                            parts.state(
                                StateWord("late by \((parts.dates.now - date).roughly)", .late)
                            ),
                            date
                        )
                    }
                }
            }
        }
    }

    private var nextPart: Node {
        let shown = next.prefix(10)
        return parts.part(
            "next",
            "Next",
            count: next.count > shown.count || next.isEmpty
                ? (next.isEmpty ? "" : "the first \(shown.count)") : "",
            more: a(.class("more"), .href(Link("jobs"))) { "All jobs" }
        ) {
            if shown.isEmpty {
                p(.class("empty")) { noNext }
            } else {
                ol(.class("rows")) {
                    for job in shown {
                        if let date = job.nextFire {
                            parts.row(
                                job.definition.name,
                                job.id,
                                .empty,
                                date,
                                parts.act(
                                    Link("jobs", "\(job.id)", "skip"),
                                    "Skip",
                                    "Skip the next fire of \(job.title)",
                                    of: job
                                )
                            )
                        }
                    }
                }
                p(.class("soft")) { "Skip: that date is dropped. Cannot be undone." }
            }
        }
    }

    private var noNext: Node {
        group {
            if hasMoreLate {
                "All jobs that were looked at are late."
            } else {
                "No job has a date to come. "
            }
            if jobs.isEmpty {
                a(.href(Link("add"))) { "Add one" }
                ", or import a crontab: "
                code { "timerctl import --dry-run" }
                "."
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// What runs, and what waits to run.
struct OpenRuns: Sendable {
    /// The newest dates first.
    let running: [Run]
    private let waiting: [Run]
    let hasMoreRunning: Bool
    private let hasMoreWaiting: Bool
    /// How many commands of all users run, for who is shown all of them; else nil.
    private let allRunning: Int?
    /// Whose they are; nil for those of all jobs.
    private let job: JobID?

    /// How many of each are shown.
    private static let rows = 50

    init(_ session: Session, _ now: Timestamp) async throws {
        let client = session.client
        job = nil
        // What runs is asked for alone: it may be older than any number of fires that wait.
        async let runningReply = client.listRuns(
            Self.request {
                $0.running = true
                // One more tells whether there are more.
                $0.limit = Self.rows + 1
            }
        )
        // What is claimed ahead is the newest here, and is not shown.
        async let openReply = client.listRuns(
            Self.request {
                $0.open = true
                $0.limit = Limits.page
            }
        )
        let found = try await runningReply.runs
        (running, hasMoreRunning) = (Array(found.prefix(Self.rows)), found.count > Self.rows)
        allRunning = session.status.countsWhatIsShown ? session.status.running : nil
        let rest = try await openReply
        waiting = rest.runs.filter { $0.state != .running && $0.isShown(now) }
        hasMoreWaiting = rest.cursor != nil
    }

    /// Those of one job, however much of it was skipped or waits since they began.
    init(of job: JobID, _ client: ControlClient, _ now: Timestamp) async throws {
        self.job = job
        var request = Self.request { ($0.job, $0.open, $0.limit) = (job, true, Limits.page) }
        let (all, next) = try await ListReader.rows(.max, from: nil) { start in
            request.cursor = start
            let reply = try await client.listRuns(request)
            return (reply.runs, reply.cursor)
        }
        running = all.filter { $0.state == .running }
        waiting = all.filter { $0.state != .running && $0.isShown(now) }
        (hasMoreRunning, hasMoreWaiting) = (next != nil, next != nil)
        allRunning = nil
    }

    private static func request(_ change: (inout ListRuns) -> Void) -> ListRuns {
        var request = ListRuns()
        change(&request)
        return request
    }

    var isEmpty: Bool { running.isEmpty && waiting.isEmpty }

    /// What runs, then what waits.
    var all: [Run] { running + waiting }

    /// How many run, as far as is known.
    var runningText: String {
        guard hasMoreRunning, let allRunning else {
            return running.count.text(hasMore: hasMoreRunning)
        }
        return allRunning.grouped
    }
    /// How many wait; nil for none.
    var waitingText: String? {
        waiting.isEmpty ? nil : waiting.count.text(hasMore: hasMoreWaiting)
    }

    /// The part of a page that shows them.
    func part(_ parts: Parts) -> Node {
        let wait = waitingText.map { "\($0) \(waiting.count == 1 ? "waits" : "wait")" }
        let count = wait.map { "\(runningText), and \($0)" } ?? runningText
        return parts.part(
            "running",
            "Running",
            count: isEmpty ? "" : count,
            more: a(
                .class("more"),
                .href(Link("runs").with("job", job.map { "\($0)" }).with("open", "1"))
            ) { "All in progress" }
        ) {
            if isEmpty {
                p(.class("empty")) { "Nothing runs." }
            } else {
                ol(.class("rows")) {
                    running.prefix(Self.rows).map { row($0, parts) }
                    waiting.prefix(Self.rows).map { row($0, parts) }
                }
                if hasMoreRunning || max(running.count, waiting.count) > Self.rows {
                    p(.class("soft")) { "The newest \(Self.rows) of each are shown." }
                }
            }
        }
    }

    private func row(_ run: Run, _ parts: Parts) -> Node {
        let words = RunWords(run, parts.dates)
        let isCommand = run.state == .running && run.id != nil
        return parts.row(
            run.name,
            run.job,
            parts.state(
                StateWord(words.progress, words.state.kind),
                run.id.map { Link("runs", "\($0)") }
            ),
            run.startedAt ?? run.fireDate,
            isCommand
                ? run.id.map {
                    parts.ask(
                        Link("runs", "\($0)", "kill"),
                        "Kill",
                        "act button small danger",
                        "Kill run \($0)"
                    )
                } ?? .empty : .empty
        )
    }
}

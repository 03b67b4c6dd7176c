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
    /// Of as many and more, what runs may not all have been on the daemon's page, which ends by its bytes, too.
    private static let whole = 250

    /// `job`: those of that one alone.
    init(_ session: Session, _ now: Timestamp, of job: Job? = nil) async throws {
        let client = session.client
        self.job = job?.id
        // What runs is asked for alone: it may be older than any number of fires that wait.
        async let runningReply = client.listRuns(
            Self.request {
                $0.running = true
                $0.owner = job?.owner
                // One more tells whether there are more.
                $0.limit = job == nil ? Self.rows + 1 : Limits.page
            }
        )
        // What is claimed ahead is the newest here, and is not shown.
        async let openReply = ListReader.rows(Self.rows + 1, from: nil) { start in
            let request = Self.request {
                ($0.job, $0.open, $0.limit, $0.cursor) = (job?.id, true, Limits.page, start)
            }
            let reply = try await client.listRuns(request)
            return (reply.runs, reply.cursor)
        }
        let found = try await runningReply.runs
        let rest = try await openReply
        if let job {
            running = Self.running(of: job.id, found, open: rest.rows, isAll: rest.cursor == nil)
            hasMoreRunning = rest.cursor != nil && found.count >= Self.whole
            allRunning = nil
        } else {
            (running, hasMoreRunning) = (Array(found.prefix(Self.rows)), found.count > Self.rows)
            allRunning = session.status.countsWhatIsShown ? session.status.running : nil
        }
        waiting = rest.rows.filter { $0.state != .running && $0.isShown(now) }
        hasMoreWaiting = rest.cursor != nil
    }

    /// What runs of one job.
    ///
    /// Those of all jobs of its owner, `found`, may be more than a page holds, and it is among what is `open` of the job where
    /// that is all of it.
    static func running(of job: JobID, _ found: [Run], open: [Run], isAll: Bool) -> [Run] {
        isAll ? open.filter { $0.state == .running } : found.filter { $0.job == job }
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

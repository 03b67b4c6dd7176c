// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// What runs, and what waits to run.
struct OpenRuns: Sendable {
    /// The newest dates first.
    private let running: [Run]
    private let waiting: [Run]
    private let hasMoreRunning: Bool
    private let hasMoreWaiting: Bool

    /// How many of each are shown.
    private static let rows = 50

    /// Reads until all that runs is found, or as much of it as is shown: a run may be older than all that waits.
    ///
    /// `atOnce`: how many are asked for at once.
    init(_ session: Session, _ now: Timestamp, atOnce: Int = Limits.page) async throws {
        let commands = session.status.running
        var request = ListRuns()
        (request.open, request.limit) = (true, atOnce)
        var all: [Run] = []
        let (_, next) = try await ListReader.rows(min(Self.rows, commands), from: nil) { start in
            request.cursor = start
            let reply = try await session.client.listRuns(request)
            let shown = reply.runs.filter { $0.isShown(now) }
            all += shown
            return (shown.filter { $0.state == .running }, reply.cursor)
        }
        running = all.filter { $0.state == .running }
        waiting = all.filter { $0.state != .running }
        hasMoreRunning = next != nil && running.count < commands
        hasMoreWaiting = next != nil
    }

    var isEmpty: Bool { running.isEmpty && waiting.isEmpty }

    /// How many run, as far as is known.
    var runningText: String { running.count.text(hasMore: hasMoreRunning) }
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
            more: a(.class("more"), .href(Link("runs").with("open", "1"))) { "All in progress" }
        ) {
            if isEmpty {
                p(.class("empty")) { "Nothing runs." }
            } else {
                ol(.class("rows")) {
                    running.prefix(Self.rows).map { row($0, parts) }
                    waiting.prefix(Self.rows).map { row($0, parts) }
                }
                if max(running.count, waiting.count) > Self.rows {
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

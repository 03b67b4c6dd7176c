// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl

/// `timerctl top`: what runs, waits and is late, as it changes.
struct Top: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Watch what runs, what waits, what is late and what comes next.",
        discussion: """
            It is drawn anew when something happens, and once a second while something runs or is \
            about to; q ends it. Where standard input or output is no terminal, it is printed once. \
            --json prints one object, once.

            Examples:
              timerctl top
              timerctl top | head -20
              timerctl top --json | jq '.runs | length'
            """
    )

    @OptionGroup var common: CommonOptions

    /// The shortest time between two requests to the daemon, however many events come.
    private static let fetchInterval = Duration.milliseconds(250)
    /// How many rows are asked for: more than a screen has.
    private static let rows = 200

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        if common.json { return try await printJSON(daemon) }
        let signals = TopSignals()
        guard let screen = TerminalScreen(signals) else {
            var names: [JobID: String?] = [:]
            let frame = try await Self.frame(daemon, names: &names)
            return try Output.write(frame.text(for: .current))
        }
        defer { screen.close() }
        let watching = Task { await Self.watch(daemon, signals) }
        defer { watching.cancel() }
        try screen.open()
        try await draw(on: screen, daemon, signals)
        await daemon.client.close()
    }

    private func draw(
        on screen: TerminalScreen,
        _ daemon: Daemon,
        _ signals: TopSignals
    ) async throws {
        var names: [JobID: String?] = [:]
        var frame: TopFrame?
        var fetched: ContinuousClock.Instant?
        while true {
            let isTime = fetched.map { .now - $0 >= Self.fetchInterval } ?? true
            let news = signals.take(change: isTime)
            if let failure = news.failure { throw failure }
            if news.isOver { return }
            guard !news.hasChanged || isTime else {
                await signals.wait(Self.fetchInterval)
                continue
            }
            if news.hasChanged {
                frame = try await Self.frame(daemon, names: &names)
                fetched = .now
            }
            guard var shown = frame else { continue }
            shown.dates.now = .now
            // One line is left for the keys.
            let height = screen.height
            let text = shown.text(for: .current, height: height - 1)
            let blank = max(height - 1 - text.count { $0 == "\n" }, 0)
            try screen.show(text + String(repeating: "\n", count: blank) + "q quits\n")
            await signals.wait(.seconds(shown.isTicking ? 1 : 30))
        }
    }

    /// Passes each event on to `signals`, until there are no more.
    private static func watch(_ daemon: Daemon, _ signals: TopSignals) async {
        do {
            try await daemon.client.subscribe()
            for try await _ in daemon.client.events { signals.tellOfEvent() }
            signals.tell { $0.isOver = true }
        } catch {
            signals.tell { $0.failure = Failure(answering: error) }
        }
    }

    /// Asks for all that a frame shows; `names` holds the names of jobs that were asked for before.
    private static func frame(
        _ daemon: Daemon,
        names: inout [JobID: String?]
    ) async throws -> TopFrame {
        let status = try await daemon.ask(.status, for: StatusReply.self).value
        let runs = try await daemon.runs(openRuns, atMost: rows).page.runs
        let jobs = try await daemon.jobs(nextJobs, atMost: rows)
        for job in jobs { names[job.id] = job.definition.name }
        for id in Set(runs.map(\.job)) where names[id] == nil {
            let job = try await daemon.ask(.getJob(.id(id)), for: JobReply.self).value.job
            names[id] = .some(job.definition.name)
        }
        return TopFrame(
            status: status,
            runs: runs,
            jobs: jobs.filter { $0.state == .scheduled && $0.nextFire != nil },
            names: names.compactMapValues { $0 },
            dates: LocalDate(now: .now, zone: .local)
        )
    }

    private func printJSON(_ daemon: Daemon) async throws {
        let status = try await daemon.ask(.status, for: StatusReply.self).json
        let runs = try await daemon.runs(Self.openRuns, atMost: Self.rows).json
        var jobs: [JSONValue] = []
        _ = try await daemon.jobs(Self.nextJobs, atMost: Self.rows) { lines in
            jobs += try lines.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
        }
        let frame: [String: JSONValue] = [
            "status": status, "runs": .array(runs), "jobs": .array(jobs),
        ]
        try Output.write(JSONValue.object(frame).jsonText + "\n")
    }

    private static var openRuns: ListRuns {
        var request = ListRuns()
        request.open = true
        request.limit = rows
        return request
    }

    private static var nextJobs: ListJobs {
        var request = ListJobs()
        request.order = .nextFire
        request.last = true
        request.limit = rows
        return request
    }
}

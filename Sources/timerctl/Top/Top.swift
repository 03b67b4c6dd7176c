// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl top`: what runs, waits and is late, as it changes.
struct Top: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Watch what runs, comes and has failed, and act on it.",
        discussion: """
            On a terminal: arrows, or j and k, mark a job or a run; tab, or 1, 2 and 3, switches \
            between what runs, what comes and what has failed lately; / shows only what has a text \
            in its name or tags; enter opens the job, with its last runs and output, and esc goes \
            back. f fires, p pauses or resumes, s skips the next date, x kills the run, d \
            invalidates, u undoes that; ? shows all keys, and q ends it. The last line says what \
            was done, or the daemon's refusal. To kill and to invalidate ask first.

            It is drawn anew when something happens, and once a second while something runs or is \
            about to. Where standard input or output is no terminal, or TERM is dumb, it is printed \
            once. --json prints one object, once: 'status', and of 'runs' and 'jobs' the \
            first \(rows) each.

            Examples:
              timerctl top
              timerctl top | head -20
              timerctl top --json | jq '.runs | length'
            """
    )

    @OptionGroup var common: CommonOptions

    /// How many rows are asked for: more than a screen has.
    static let rows = 200

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        if common.json { return try await printJSON(daemon) }
        // One that refuses, or does not answer, is said before the screen is taken, and as long as a signal ends this.
        _ = try await daemon.ask(.status, for: StatusReply.self)
        let signals = TopSignals()
        guard let screen = TerminalScreen(signals) else {
            let frame = try await Self.frame(daemon)
            return try Output.write(frame.text(for: .current))
        }
        let link = TopLink(daemon: daemon, socket: common.socketPath, signals)
        let watching = Task { await link.watch() }
        defer {
            watching.cancel()
            screen.close()
        }
        try screen.open()
        var session = TopSession(screen: screen, link: link, signals: signals)
        try await session.run()
        screen.close()
        await link.close()
    }

    private static func frame(_ daemon: Daemon) async throws -> TopFrame {
        TopFrame(
            status: try await daemon.ask(.status, for: StatusReply.self).value,
            runs: try await daemon.runs(openRuns, atMost: rows).page.runs,
            jobs: try await daemon.jobs(nextJobs, atMost: rows),
            dates: LocalDate(now: .now, zone: .local)
        )
    }

    private func printJSON(_ daemon: Daemon) async throws {
        let status = try await daemon.ask(.status, for: StatusReply.self).json
        let runs = try await daemon.runs(Self.openRuns, atMost: Self.rows).json
        var jobs: [JSONValue] = []
        _ = try await daemon.jobs(Self.nextJobs, atMost: Self.rows) { lines in
            // As texts: a userInfo may have numbers that no value holds.
            jobs += try lines.split(separator: "\n").map {
                .verbatim(try JSONText(parsing: String($0)))
            }
        }
        let frame: [String: JSONValue] = [
            "status": status, "runs": .array(runs), "jobs": .array(jobs),
        ]
        try Output.write(JSONValue.object(frame).jsonLine)
    }

    static var openRuns: ListRuns {
        var request = ListRuns()
        request.open = true
        request.limit = rows
        return request
    }

    static var nextJobs: ListJobs {
        var request = ListJobs()
        request.order = .nextFire
        request.last = true
        request.limit = rows
        return request
    }
}

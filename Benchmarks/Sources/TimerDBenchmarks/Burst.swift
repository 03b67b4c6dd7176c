// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl

/// How soon commands start that are all due at one instant.
struct Burst: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "commands",
        abstract: "Commands that are due at one instant: the first start, and all of them.",
        discussion: """
            Adds jobs that run /bin/true at the same instant, and takes from that instant to the \
            stamp of the first start and to the news of the last end. Beside it as many threads as \
            the daemon runs commands at once do nothing but posix_spawn and waitpid, before and after.
            """
    )

    @OptionGroup var common: CommonOptions

    @Option(help: "How many commands.")
    var commands = 1000

    @Option(help: "How many at once; the daemon's default is 64, and 32 of a user who is not root.")
    var atOnce = 32

    @Option(help: "How often it is measured; the medians are shown.")
    var rounds = 3

    func validate() throws {
        guard 1...10_000 ~= commands, 1...1000 ~= atOnce, 1...100 ~= rounds else {
            throw ValidationError(
                "accepted: 1 to 10000 commands, 1 to 1000 at once, 1 to 100 rounds"
            )
        }
    }

    func run() async throws { try await common.perform { try await measure(on: $0) } }

    private struct Round {
        /// From the common date to the first start, in ms.
        var first: Double
        /// Runs a second, the last end included.
        var rate: Double
        /// The daemon's processor time of each, in µs.
        var cost: Double
        var bareRate: Double
        var bareCost: Double
    }

    func measure(on bench: Bench) async throws {
        var measured: [Round] = []
        for number in 1...rounds {
            bench.report.progress("\(commands) commands at once, round \(number) of \(rounds)")
            measured.append(try await round(on: bench))
        }
        let bare = "posix_spawn, waitpid"
        try bench.report.table(
            "\(commands) commands at the same instant, \(atOnce) at once",
            [
                Figure("the first started", over: measured.map(\.first), .milliseconds)
                    .reaching(atMost: 5),
                Figure("all, a second", over: measured.map(\.rate), .perSecond)
                    .beside(bare, measured.median(\.bareRate))
                    .reaching(atLeast: 0.8),
                Figure("processor time of a run", over: measured.map(\.cost), .microseconds)
                    .beside(bare, measured.median(\.bareCost))
                    .reaching(atMost: 200),
            ]
        )
    }

    private func round(on bench: Bench) async throws -> Round {
        try bench.folder.removeDatabase("commands.db")
        let before = try await BareSpawn.rate(["/bin/true"], atOnce: atOnce, seconds: 0.5)
        let settings = ["TIMERD_MAX_RUNS": "\(atOnce)", "TIMERD_MAX_RUNS_PER_USER": "\(atOnce)"]
        var round = try await DaemonProcess.with(
            bench,
            database: "commands.db",
            settings: settings
        ) { try await runAtOnce($0) }
        let after = try await BareSpawn.rate(["/bin/true"], atOnce: atOnce, seconds: 0.5)
        round.bareRate = (before.rate + after.rate) / 2
        round.bareCost = (before.cost + after.cost) / 2
        return round
    }

    private func runAtOnce(_ daemon: DaemonProcess) async throws -> Round {
        let client = try await daemon.connect()
        var request = Subscribe()
        request.types = [.runStarted, .runFinished]
        try await client.subscribe(request)
        let date = Clock.now + .seconds(2 + Int64(commands) / 1000)
        var job = JobDefinition(schedule: ScheduleWords(at: date.rfc3339))
        job.command = ["/bin/true"]
        for batch in Array(repeating: job, count: commands).batches(of: 1000) {
            _ = try await client.addJobs(Array(batch))
        }
        guard Clock.now < date else {
            throw BenchmarkError("adding \(commands) commands took too long")
        }
        let processorTime = daemon.processorTime
        let first = try await Clock.limit(120, "\(commands) runs to end") { [commands] in
            var first = Double.infinity
            var ended = 0
            for try await event in client.events {
                if event.type == .runStarted {
                    first = min(first, (event.at - date).inMilliseconds)
                }
                guard event.type == .runFinished else { continue }
                ended += 1
                if ended == commands { break }
            }
            return first
        }
        let seconds = (Clock.now - date).inMilliseconds / 1000
        let cost = (daemon.processorTime - processorTime) * 1e6 / Double(commands)
        await client.close()
        return Round(
            first: first,
            rate: Double(commands) / seconds,
            cost: cost,
            bareRate: .nan,
            bareCost: .nan
        )
    }
}

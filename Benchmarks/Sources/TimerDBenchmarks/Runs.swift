// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Schedules
import TimerControl

/// How many commands a second can run, and how long one takes to begin.
struct Runs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs of /bin/true a second, and from a fire date to exec.",
        discussion: """
            Adds jobs that all run /bin/true at the same instant, for a daemon that runs so many at \
            once, and takes the time from that instant to the news of the last one's end: each \
            stored before it was started and after it had ended, its output read. Beside it as \
            many threads do nothing but posix_spawn and waitpid, before and after. Then a command \
            notes when it was executed, and beside it one that a bare loop on a timerfd spawns, \
            in turns in the same seconds.
            """
    )

    @OptionGroup var common: CommonOptions

    @Option(help: "How many runs each measurement has.")
    var runs = 2000

    @Option(help: "How many at once; may be given several times. [default: 1, 2, 16 and 32]")
    var atOnce: [Int] = []

    @Option(help: "How many fire dates, 50 ms apart, the time to exec is measured at.")
    var dates = 200

    @Option(help: "How often each is measured; the medians are shown.")
    var rounds = 5

    func validate() throws {
        guard 1...100_000 ~= runs, atOnce.allSatisfy({ 1...1000 ~= $0 }), 10...10_000 ~= dates,
            1...100 ~= rounds
        else {
            throw ValidationError(
                "accepted: 1 to 100000 runs, 1 to 1000 at once, 10 to 10000 dates, 1 to 100 rounds"
            )
        }
    }

    func run() async throws { try await common.perform { try await measure(on: $0) } }

    func measure(on bench: Bench) async throws {
        var figures: [Figure] = []
        for count in atOnce.isEmpty ? [1, 2, 16, 32] : atOnce {
            figures += try await throughput(atOnce: count, on: bench)
        }
        try bench.report.table("Runs of /bin/true", figures)
        try bench.report.table(
            "From the fire date to exec, one command",
            try await delay(on: bench)
        )
    }

    // MARK: - Runs a second

    private func throughput(atOnce: Int, on bench: Bench) async throws -> [Figure] {
        var measured: [Throughput] = []
        for number in 1...rounds {
            bench.report.progress("\(runs) runs, \(atOnce) at once, round \(number) of \(rounds)")
            let before = try await BareSpawn.rate(Self.nothing, atOnce: atOnce, seconds: 1)
            var round = try await daemonRate(atOnce: atOnce, on: bench)
            let after = try await BareSpawn.rate(Self.nothing, atOnce: atOnce, seconds: 1)
            round.bareRate = (before.rate + after.rate) / 2
            round.bareCost = (before.cost + after.cost) / 2
            measured.append(round)
        }
        let ratios = measured.map { $0.rate / $0.bareRate }
        return [
            Figure("\(atOnce) at once", over: measured.map(\.rate), .perSecond)
                .beside("posix_spawn, waitpid", measured.median(\.bareRate)),
            Figure("the same, round by round", over: ratios, .ratio)
                .expecting("at least 0.8", Samples(ratios).median >= 0.8),
            Figure("processor time beside the program's", over: measured.map(\.cost), .microseconds)
                .beside("posix_spawn, waitpid", measured.median(\.bareCost)),
        ]
    }

    private struct Throughput {
        /// Runs a second.
        var rate: Double
        /// The processor time of each without the program's own, in µs.
        var cost: Double
        var bareRate = Double.nan
        var bareCost = Double.nan
    }

    private static let nothing = ["/bin/true"]

    private func daemonRate(atOnce: Int, on bench: Bench) async throws -> Throughput {
        try bench.folder.removeDatabase("runs.db")
        let settings = ["TIMERD_MAX_RUNS": "\(atOnce)", "TIMERD_MAX_RUNS_PER_USER": "\(atOnce)"]
        return try await DaemonProcess.with(bench, database: "runs.db", settings: settings) {
            daemon in
            let client = try await daemon.connect()
            try await client.subscribe(Self.ends)
            // Far enough ahead for the slowest machine to have added them all.
            let date = Clock.now + .seconds(2 + Int64(runs) / 1000)
            let job = Self.job(Self.nothing, at: date)
            for batch in Array(repeating: job, count: runs).batches(of: 1000) {
                _ = try await client.addJobs(Array(batch))
            }
            guard Clock.now < date else {
                throw BenchmarkError("adding \(runs) jobs took too long")
            }
            let processorTime = daemon.processorTime
            try await Self.waitForEnds(runs, client)
            let seconds = (Clock.now - date).inMilliseconds / 1000
            let cost = (daemon.processorTime - processorTime) * 1e6 / Double(runs)
            await client.close()
            return Throughput(rate: Double(runs) / seconds, cost: cost)
        }
    }

    private static var ends: Subscribe {
        var request = Subscribe()
        request.types = [.runFinished]
        return request
    }

    private static func job(_ command: [String], at date: Timestamp) -> JobDefinition {
        var definition = JobDefinition(schedule: ScheduleWords(at: date.rfc3339))
        definition.command = command
        return definition
    }

    private static func waitForEnds(_ count: Int, _ client: ControlClient) async throws {
        try await Clock.limit(300, "\(count) runs to end") {
            var ended = 0
            for try await event in client.events {
                guard event.outcome == .exited, event.status == 0 else {
                    throw BenchmarkError("run \(event.run?.rawValue ?? 0) of the daemon failed")
                }
                ended += 1
                if ended == count { return }
            }
        }
    }

    // MARK: - From the date to exec

    private func delay(on bench: Bench) async throws -> [Figure] {
        let note = try ExecNote(in: bench.folder)
        var timerd: [Samples] = []
        var bare: [Samples] = []
        for number in 1...rounds {
            bench.report.progress("\(dates) dates, round \(number) of \(rounds)")
            let round = try await delays(note, on: bench)
            timerd.append(round.timerd)
            bare.append(round.bare)
        }
        return [("p50", 50.0), ("p99", 99.0)].map { name, percent in
            Figure(name, over: timerd.map { $0.percentile(percent) }, .milliseconds)
                .beside("timerfd, posix_spawn", bare.median { $0.percentile(percent) })
        }
    }

    private func delays(_ note: ExecNote, on bench: Bench) async throws -> (
        timerd: Samples, bare: Samples
    ) {
        try bench.folder.removeDatabase("runs.db")
        let bareNote = note.beside
        return try await DaemonProcess.with(bench, database: "runs.db") { daemon in
            let client = try await daemon.connect()
            try await client.subscribe(Self.ends)
            let first = Clock.now + .seconds(1)
            let all = (0..<dates).map { first + .milliseconds(Int64($0) * 50) }
            // Half a step apart: neither is in the other's way, and what else the machine does
            // befalls both alike.
            async let bareLoop: Void = Clock.onThread {
                for date in all.map({ $0 + .milliseconds(25) }) {
                    _ = try BareTimerLoop.lateness(at: [date])
                    try BareSpawn.run(bareNote.command(at: date))
                }
            }
            _ = try await client.addJobs(all.map { Self.job(note.command(at: $0), at: $0) })
            try await Self.waitForEnds(dates, client)
            try await bareLoop
            await client.close()
            return (Samples(try note.take()), Samples(try bareNote.take()))
        }
    }
}

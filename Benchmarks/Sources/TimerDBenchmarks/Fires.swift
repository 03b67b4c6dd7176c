// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl

/// How many events a second can fire.
struct Fires: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Event fires a second, beside what raw SQLite records.",
        discussion: """
            Adds jobs that all fire at the same instant, and takes the time from that instant to \
            the last event at the watcher. Raw SQLite moves the indexed date of a job and inserts \
            a fire, at 100 a commit.
            """
    )

    @OptionGroup var common: CommonOptions

    @Option(help: "How many jobs fire at once.")
    var jobs = 20_000

    @Option(help: "How often it is measured; the medians are shown.")
    var rounds = 3

    func validate() throws {
        guard 1...1_000_000 ~= jobs, 1...100 ~= rounds else {
            throw ValidationError("accepted: 1 to 1000000 jobs, 1 to 100 rounds")
        }
    }

    func run() async throws { try await common.perform { try await measure(on: $0) } }

    private struct Round {
        var rate: Double
        var raw: RawLoad.Result
        /// The daemon's processor time for each, in µs.
        var cost: Double
        /// From the common date to the last of all, in ms.
        var lastFired: Double
        var lastReceived: Double
    }

    func measure(on bench: Bench) async throws {
        let raw = try RawLoad(bench.folder.file("raw.db"))
        var measured: [Round] = []
        for number in 1...rounds {
            bench.report.progress("\(jobs) fires at once, round \(number) of \(rounds)")
            measured.append(try await round(on: bench, raw))
        }
        try bench.report.table(
            "\(jobs) events at the same instant",
            [
                Figure("received, a second", over: measured.map(\.rate), .perSecond)
                    .beside("SQLite, 100 fires a commit", measured.median(\.raw.rate))
                    .reaching(atLeast: 1),
                Figure("processor time of a fire", over: measured.map(\.cost), .microseconds)
                    .beside("SQLite, 100 fires a commit", measured.median(\.raw.cost))
                    .reaching(atMost: 30),
                Figure("the last one fired", over: measured.map(\.lastFired), .milliseconds),
                Figure("the last one received", over: measured.map(\.lastReceived), .milliseconds),
            ]
        )
    }

    private func round(on bench: Bench, _ raw: RawLoad) async throws -> Round {
        try bench.folder.removeDatabase("fires.db")
        let rawResult = try await raw.fires(perCommit: 100, seconds: 1)
        let (fires, cost) = try await DaemonProcess.with(bench, database: "fires.db") { daemon in
            try await fireAtOnce(daemon)
        }
        let lastReceived = fires.map(\.received).max() ?? .nan
        return Round(
            rate: Double(jobs) / (lastReceived / 1000),
            raw: rawResult,
            cost: cost,
            lastFired: fires.map(\.fired).max() ?? .nan,
            lastReceived: lastReceived
        )
    }

    private func fireAtOnce(_ daemon: DaemonProcess) async throws -> (
        fires: [Watch.Fire], cost: Double
    ) {
        let watch = try await Watch(daemon)
        let client = try await daemon.connect()
        // Far enough ahead for the slowest machine to have added them all.
        let lead = 2 + Double(jobs) / 2000
        let date = Clock.now + TimeSpan(microseconds: Int64(lead * 1e6))
        async let collected = watch.fires(jobs, within: lead + 120)
        for batch in Array(repeating: date, count: jobs).batches(of: 1000) {
            _ = try await client.call(.add(at: batch), as: JSONValue.self)
        }
        guard Clock.now < date else {
            throw BenchmarkError("adding \(jobs) jobs took longer than \(lead) s")
        }
        let processorTime = daemon.processorTime
        let fires = try await collected
        let cost = (daemon.processorTime - processorTime) * 1e6 / Double(jobs)
        await client.close()
        await watch.close()
        return (fires, cost)
    }
}

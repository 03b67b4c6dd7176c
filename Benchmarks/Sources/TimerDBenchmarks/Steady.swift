// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl

/// What a steady load of fires costs.
struct Steady: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Processor time of jobs that fire each second.",
        discussion: """
            Adds jobs that fire each second, evenly spread over it, with a watcher, and takes the \
            daemon's processor time of so many seconds. Beside it a bare timerfd loop at the same dates.
            """
    )

    @OptionGroup var common: CommonOptions

    @Option(help: "How many jobs fire each second.")
    var jobs = 1000

    @Option(help: "For how many seconds.")
    var seconds = 20

    func validate() throws {
        guard 1...10_000 ~= jobs, 1...3600 ~= seconds else {
            throw ValidationError("accepted: 1 to 10000 jobs, 1 to 3600 seconds")
        }
    }

    func run() async throws { try await common.perform { try await measure(on: $0) } }

    func measure(on bench: Bench) async throws {
        bench.report.progress("\(jobs) jobs each second for \(seconds) s")
        try bench.folder.removeDatabase("steady.db")
        let (time, loop, fires) = try await DaemonProcess.with(bench, database: "steady.db") {
            try await fire($0)
        }
        let lateness = Samples(fires)
        let name = "processor time of \(jobs) jobs each second for \(seconds) s"
        // What was promised is of 1,000 jobs for 20 s.
        let share = Double(jobs * seconds) / 20_000
        try bench.report.table(
            "\(jobs) jobs each second",
            [
                Figure(name, time, .seconds).beside("timerfd loop", loop).reaching(atMost: share),
                Figure("processor time of a fire", time / Double(fires.count) * 1e6, .microseconds),
                Figure("fired, p50", lateness.median, .milliseconds),
                Figure("fired, p99", lateness.percentile(99), .milliseconds),
            ]
        )
    }

    /// The daemon's processor time, the bare loop's at the same dates, and how late each fire was.
    private func fire(
        _ daemon: DaemonProcess
    ) async throws -> (time: Double, loop: Double, fires: [Double]) {
        let watch = try await Watch(daemon)
        let client = try await daemon.connect()
        let first = Clock.now + .seconds(3)
        let step = Int64(1_000_000 / jobs)
        let starts = (0..<jobs).map {
            Timestamp(microseconds: first.microseconds + Int64($0) * step)
        }
        let definitions = starts.map { start in
            JobDefinition(schedule: ScheduleWords(every: "1s", from: start.rfc3339))
        }
        for batch in definitions.batches(of: 1000) {
            _ = try await client.call(.addJobs(AddJobs(Array(batch))), as: JSONValue.self)
        }
        guard Clock.now < first else { throw BenchmarkError("adding \(jobs) jobs took too long") }
        let processorTime = daemon.processorTime
        async let loop = Clock.onThread { [jobs, seconds] in
            let before = Clock.threadProcessorTime
            // Half a step apart: neither is in the other's way.
            let dates = (0..<jobs * seconds).map {
                Timestamp(microseconds: first.microseconds + Int64($0) * step + step / 2)
            }
            _ = try BareTimerLoop.lateness(at: dates)
            return Clock.threadProcessorTime - before
        }
        let fires = try await watch.repeated(jobs * seconds, within: Double(seconds) + 60)
        let time = daemon.processorTime - processorTime
        await client.close()
        await watch.close()
        return (time, try await loop, fires)
    }
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl

/// How late events fire that are spread over five seconds.
struct Lateness: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "How late one-shot events fire, beside a bare timerfd loop.",
        discussion: """
            Adds one-shot jobs spread evenly over 5 s, in random order, and watches them on a \
            second connection. Lateness is the daemon's own stamp less the fire date, and the \
            moment at which the watcher has the event less the fire date. A bare loop on a \
            timerfd waits for as many dates right before and right after; and another one at the \
            same time, half a step apart, so that what else the machine does befalls both alike.
            """
    )

    @OptionGroup var common: CommonOptions

    @Option(help: "How many jobs; may be given several times. [default: 1000, 10000 and 50000]")
    var jobs: [Int] = []

    @Option(help: "How often each is measured; the medians are shown.")
    var rounds = 2

    @Option(
        help: "The time from the first add to the first date, in seconds, for each 10,000 jobs."
    )
    var lead = 2.0

    func validate() throws {
        guard jobs.allSatisfy({ 1...100_000 ~= $0 }), 1...100 ~= rounds, 0.1...60 ~= lead else {
            throw ValidationError(
                "accepted: 1 to 100000 jobs, 1 to 100 rounds, a lead of 0.1 to 60 seconds"
            )
        }
    }

    func run() async throws { try await common.perform { try await measure(on: $0) } }

    func measure(on bench: Bench) async throws {
        for count in jobs.isEmpty ? [1000, 10_000, 50_000] : jobs {
            var measured: [Round] = []
            for number in 1...rounds {
                bench.report.progress("lateness of \(count) jobs, round \(number) of \(rounds)")
                measured.append(try await round(of: count, on: bench))
            }
            try bench.report.table(
                "Lateness of \(count) one-shot events over 5 s",
                figures(count, measured),
                notes: notes(count, measured)
            )
        }
    }

    private struct Round {
        /// The bare loop before and after.
        var bare: Samples
        /// The bare loop at the same time.
        var meanwhile: Samples
        /// By the daemon's stamp.
        var fired: Samples
        /// By the watcher's clock.
        var received: Samples
        /// How long the adds took, in seconds.
        var addTime: Double
        /// The daemon's processor time from the first date to the last fire, in seconds.
        var processorTime: Double
        /// The bare loop's at the same time.
        var loopTime: Double
    }

    /// What issue 14 promises: how often the loop's p99, and seconds of processor time.
    private static let promises: [Int: (ratio: Double, time: Double?)] = [
        1000: (1.5, 0.1), 10_000: (2, 0.5), 50_000: (3, nil),
    ]

    private func figures(_ count: Int, _ rounds: [Round]) -> [Figure] {
        let kinds: [(String, @Sendable (Samples) -> Double)] = [
            ("p50", \.median), ("p99", { $0.percentile(99) }), ("max", \.max),
        ]
        let stamps: [(String, @Sendable (Round) -> Samples)] = [
            ("fired", \.fired), ("received", \.received), ("loop meanwhile", \.meanwhile),
        ]
        let lateness = stamps.flatMap { stamp, samples in
            kinds.map { kind, value in
                let bare = rounds.median { value($0.bare) }
                let figure = Figure(
                    "\(stamp), \(kind)",
                    over: rounds.map { value(samples($0)) },
                    .milliseconds
                ).beside("timerfd loop", bare)
                guard stamp == "fired", kind == "p99", let promise = Self.promises[count] else {
                    return figure
                }
                return figure.reaching(atMostRatio: promise.ratio)
            }
        }
        return lateness + [processorTime(count, rounds)]
    }

    private func processorTime(_ count: Int, _ rounds: [Round]) -> Figure {
        let figure = Figure("processor time", over: rounds.map(\.processorTime), .seconds)
            .beside("timerfd loop", rounds.median(\.loopTime))
        return Self.promises[count]?.time.map { figure.reaching(atMost: $0) } ?? figure
    }

    private func notes(_ count: Int, _ rounds: [Round]) -> [String] {
        let late = rounds.filter { $0.addTime > leadTime(count) }.count
        guard late > 0 else { return [] }
        return ["in \(late) round(s) the last add was answered after the first date"]
    }

    // MARK: - One round

    private func round(of count: Int, on bench: Bench) async throws -> Round {
        try bench.folder.removeDatabase("lateness.db")
        let before = try await bareLoop(count)
        var round = try await DaemonProcess.with(bench, database: "lateness.db") {
            try await daemonLoop(count, $0)
        }
        let after = try await bareLoop(count)
        round.bare = Samples(before + after)
        return round
    }

    private func leadTime(_ count: Int) -> Double { lead * max(1, Double(count) / 10_000) }

    private func bareLoop(_ count: Int) async throws -> [Double] {
        try await bareLoop(at: dates(count, after: 0.1))
    }

    private func bareLoop(at dates: [Timestamp]) async throws -> [Double] {
        try await Clock.onThread { try BareTimerLoop.lateness(at: dates) }
    }

    /// As many dates, evenly over 5 s, the first this many seconds from now.
    private func dates(_ count: Int, after lead: Double) -> [Timestamp] {
        let first = Clock.now.microseconds + Int64(lead * 1e6)
        return (0..<count).map { Timestamp(microseconds: first + Int64($0 * 5_000_000 / count)) }
    }

    /// All but the bare loop before and after.
    private func daemonLoop(_ count: Int, _ daemon: DaemonProcess) async throws -> Round {
        let watch = try await Watch(daemon)
        let client = try await daemon.connect()
        var random = SplitMix(seed: UInt64(count))
        let inOrder = dates(count, after: leadTime(count))
        let dates = inOrder.shuffled(using: &random)
        let halfStep = TimeSpan(microseconds: Int64(2_500_000 / count))
        // The daemon's time is read by the loop's thread, when its first date comes.
        async let meanwhile = Clock.onThread {
            _ = try BareTimerLoop.lateness(at: [inOrder[0]])
            let times = (daemon.processorTime, Clock.threadProcessorTime)
            let lateness = try BareTimerLoop.lateness(at: inOrder.map { $0 + halfStep })
            return (lateness, before: times.0, loop: Clock.threadProcessorTime - times.1)
        }
        let start = ContinuousClock.now
        async let collected = watch.fires(count, within: leadTime(count) + 60)
        for batch in dates.batches(of: 1000) {
            _ = try await client.call(.add(at: batch), as: JSONValue.self)
        }
        let addTime = (ContinuousClock.now - start).inSeconds
        let fires = try await collected
        let processorTime = daemon.processorTime
        await client.close()
        await watch.close()
        let loop = try await meanwhile
        return Round(
            bare: Samples([]),
            meanwhile: Samples(loop.0),
            fired: Samples(fires.map(\.fired)),
            received: Samples(fires.map(\.received)),
            addTime: addTime,
            processorTime: processorTime - loop.before,
            loopTime: loop.loop
        )
    }
}

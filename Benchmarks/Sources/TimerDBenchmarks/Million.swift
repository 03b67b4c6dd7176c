// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl

/// What a million waiting jobs cost a daemon that has nothing to do for any of them.
struct Million: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Start, memory, adds and wake-ups with a million waiting jobs, beside none.",
        discussion: """
            Fills a database through the daemon, with dates from a day to a year ahead. Then both \
            daemons, that of the full and of an empty database, are measured in the same way.
            """
    )

    @OptionGroup var common: CommonOptions

    @Option(help: "How many jobs wait.")
    var jobs = 1_000_000

    @Option(help: "How often each daemon is started; the medians are shown.")
    var starts = 5

    @Option(help: "How long each is watched for wake-ups, in seconds.")
    var idle = 60.0

    @Option(help: "How often each kind of add is measured; the medians are shown.")
    var rounds = 6

    @Option(help: "How long each kind of add is measured in a round.")
    var seconds = 0.5

    func validate() throws {
        guard 1...10_000_000 ~= jobs, 1...100 ~= starts, 1...3600 ~= idle, 1...100 ~= rounds,
            0.1...60 ~= seconds
        else {
            throw ValidationError(
                "accepted: 1 to 10000000 jobs, 1 to 100 starts, 1 to 3600 s idle, 1 to 100 rounds, 0.1 to 60 seconds"
            )
        }
    }

    func run() async throws { try await common.perform { try await measure(on: $0) } }

    /// What a daemon costs while it does nothing.
    private struct Rest {
        var startTimes: [Double]
        var resident: Double
        var proportional: Double
        var wakeUps: [String: Int]

        var allWakeUps: Double { Double(wakeUps.values.reduce(0, +)) }
    }

    private struct Round {
        var one: AddLoad.Result
        var eight: AddLoad.Result
        var batches: AddLoad.Result
    }

    func measure(on bench: Bench) async throws {
        let fillTime = try await fill(bench)
        try await DaemonProcess.with(bench, database: "empty.db") { _ in }
        let none = try await idle("empty.db", bench)
        let full = try await idle("full.db", bench)
        var figures = [
            Figure("start to first answer", over: full.startTimes, .seconds)
                .beside("no job", Samples(none.startTimes).median)
                .reaching(atMostRatio: 1.2),
            Figure("resident memory", full.resident, .megabytes)
                .beside("no job", none.resident)
                .reaching(atMostRatio: 1.2),
            Figure("memory (Pss)", full.proportional, .megabytes)
                .beside("no job", none.proportional),
            Figure("wake-ups in \(Int(idle)) s", full.allWakeUps, .count)
                .beside("no job", none.allWakeUps)
                .reaching(atMost: 0),
        ]
        let (fullAdds, emptyAdds) = try await adds(bench)
        figures += [
            compared("adds, 1 client", fullAdds, emptyAdds, \.one),
            compared("adds, 8 clients", fullAdds, emptyAdds, \.eight),
            compared("adds, batches of 100", fullAdds, emptyAdds, \.batches),
            cost("processor time of an add, 1 client", fullAdds, emptyAdds, \.one),
            cost("processor time of an add, batches", fullAdds, emptyAdds, \.batches),
        ]
        let rate = Int(Double(jobs) / fillTime)
        try bench.report.table(
            "\(jobs) waiting jobs",
            figures,
            notes: [
                "added in \(Int(fillTime)) s, \(rate) a second, 1,000 a request",
                "woken, by thread: " + (full.wakeUps.isEmpty ? "none" : full.wakeUps.byName),
            ]
        )
    }

    private func compared(
        _ name: String,
        _ full: [Round],
        _ none: [Round],
        _ result: (Round) -> AddLoad.Result
    ) -> Figure {
        Figure(name, over: full.map { result($0).rate }, .perSecond)
            .beside("no job", none.median { result($0).rate })
            .reaching(atLeast: 1 / 1.2)
    }

    private func cost(
        _ name: String,
        _ full: [Round],
        _ none: [Round],
        _ result: (Round) -> AddLoad.Result
    ) -> Figure {
        Figure(name, over: full.map { result($0).cost }, .microseconds)
            .beside("no job", none.median { result($0).cost })
            .reaching(atMostRatio: 1.2)
    }

    // MARK: - Filling

    /// Adds all jobs over two connections, so that one request is on its way while another is
    /// carried out; returns how long that took.
    private func fill(_ bench: Bench) async throws -> Double {
        try bench.folder.removeDatabase("full.db")
        return try await DaemonProcess.with(bench, database: "full.db") { daemon in
            let start = ContinuousClock.now
            let clients = [try await daemon.connect(), try await daemon.connect()]
            try await Clock.limit(max(600, Double(jobs) / 2000), "\(jobs) jobs to be added") {
                [jobs] in
                try await withThrowingTaskGroup { group in
                    for (index, client) in clients.enumerated() {
                        let share = jobs / 2 + (index == 0 ? jobs % 2 : 0)
                        group.addTask {
                            try await add(share, by: client, seed: UInt64(index), bench)
                        }
                    }
                    try await group.waitForAll()
                }
            }
            for client in clients { await client.close() }
            return (ContinuousClock.now - start).inSeconds
        }
    }

    private func add(
        _ count: Int,
        by client: ControlClient,
        seed: UInt64,
        _ bench: Bench
    ) async throws {
        var random = SplitMix(seed: seed)
        let now = Clock.now
        for start in stride(from: 0, to: count, by: 1000) {
            let dates = (start..<min(start + 1000, count)).map { _ in
                random.waitingDate(after: now)
            }
            _ = try await client.call(.add(at: dates), as: JSONValue.self)
            if seed == 0, start % 100_000 == 0 {
                bench.report.progress("filling: \(2 * start) of \(jobs)")
            }
        }
    }

    // MARK: - Measuring

    private func idle(_ database: String, _ bench: Bench) async throws -> Rest {
        bench.report.progress("\(database): \(starts) starts, then \(Int(idle)) s of silence")
        var startTimes: [Double] = []
        for _ in 0..<starts {
            let time = try await DaemonProcess.with(bench, database: database) { $0.startTime }
            startTimes.append(time.inSeconds)
        }
        return try await DaemonProcess.with(bench, database: database) { [startTimes] daemon in
            try await Task.sleep(for: .seconds(2))
            let memory = daemon.memory
            // What the start has left to do, such as a checkpoint, is done by then.
            try await Task.sleep(for: .seconds(8))
            return Rest(
                startTimes: startTimes,
                resident: memory.resident,
                proportional: memory.proportional,
                wakeUps: try await daemon.wakeUps(during: .seconds(idle))
            )
        }
    }

    /// Adds to both databases by turns, so that what disturbs the disk disturbs both.
    private func adds(_ bench: Bench) async throws -> (full: [Round], empty: [Round]) {
        try await DaemonProcess.with(bench, database: "full.db") { full in
            try await DaemonProcess.with(bench, database: "empty.db") { empty in
                var rounds: (full: [Round], empty: [Round]) = ([], [])
                for number in 1...self.rounds {
                    bench.report.progress("adds to both, round \(number) of \(self.rounds)")
                    rounds.full.append(try await round(full))
                    rounds.empty.append(try await round(empty))
                }
                return rounds
            }
        }
    }

    private func round(_ daemon: DaemonProcess) async throws -> Round {
        Round(
            one: try await AddLoad.oneClient.run(on: daemon, seconds: seconds),
            eight: try await AddLoad.eightClients.run(on: daemon, seconds: seconds),
            batches: try await AddLoad.batches.run(on: daemon, seconds: seconds)
        )
    }
}

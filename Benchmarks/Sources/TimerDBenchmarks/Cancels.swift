// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// How many jobs a second can be ended before they fire.
struct Cancels: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Jobs invalidated a second, beside raw SQLite deletes.",
        discussion: """
            Adds jobs that wait, and invalidates them by their ids: one client one at a time, then \
            lists of 100. Raw SQLite deletes as many rows by their ids, 1 and 100 a commit.
            """
    )

    @OptionGroup var common: CommonOptions

    @Option(
        help: "How many jobs are invalidated one at a time in a round; ten times as many in lists."
    )
    var jobs = 500

    @Option(help: "How often each is measured; the medians are shown.")
    var rounds = 5

    func validate() throws {
        guard 10...100_000 ~= jobs, 1...100 ~= rounds else {
            throw ValidationError("accepted: 10 to 100000 jobs, 1 to 100 rounds")
        }
    }

    func run() async throws { try await common.perform { try await measure(on: $0) } }

    private struct Round {
        /// The daemon's, and raw SQLite's.
        var ours: RawLoad.Result
        var raw: RawLoad.Result
    }

    func measure(on bench: Bench) async throws {
        try bench.folder.removeDatabase("cancels.db")
        let raw = try RawLoad(bench.folder.file("raw-cancels.db"))
        let measured = try await DaemonProcess.with(bench, database: "cancels.db") { daemon in
            let client = try await daemon.connect()
            var rounds: (one: [Round], lists: [Round]) = ([], [])
            for number in 1...self.rounds {
                bench.report.progress("cancels, round \(number) of \(self.rounds)")
                rounds.one.append(try await round(jobs, inLists: 1, client, daemon, raw))
                rounds.lists.append(try await round(10 * jobs, inLists: 100, client, daemon, raw))
            }
            await client.close()
            return rounds
        }
        try bench.report.table(
            "Cancels",
            figures("1 client", measured.one, perCommit: 1, atLeast: 0.6, atMost: 130)
                + figures("lists of 100", measured.lists, perCommit: 100, atLeast: 0.5, atMost: 15)
        )
    }

    private func figures(
        _ name: String,
        _ rounds: [Round],
        perCommit: Int,
        atLeast ratio: Double,
        atMost cost: Double
    ) -> [Figure] {
        let limit = "SQLite, \(perCommit) deletes a commit"
        // Whoever waits for each commit is not faster than the commits alone: the disk was disturbed.
        let isNoisy = perCommit == 1 && rounds.median(\.ours.rate) > rounds.median(\.raw.rate)
        return [
            Figure(name, over: rounds.map(\.ours.rate), .perSecond)
                .beside(limit, rounds.median(\.raw.rate))
                .reaching(atLeast: ratio, isNoisy: isNoisy),
            Figure("processor time, \(name)", over: rounds.map(\.ours.cost), .microseconds)
                .beside(limit, rounds.median(\.raw.cost))
                .reaching(atMost: cost),
        ]
    }

    private func round(
        _ count: Int,
        inLists size: Int,
        _ client: ControlClient,
        _ daemon: DaemonProcess,
        _ raw: RawLoad
    ) async throws -> Round {
        let deleted = try await raw.deletes(perCommit: size, rows: count)
        var ids: [JobID] = []
        var random = SplitMix(seed: UInt64(count))
        let now = Clock.now
        for batch in Array(repeating: 0, count: count).batches(of: 1000) {
            let dates = batch.map { _ in random.waitingDate(after: now) }
            ids += try await client.call(.add(at: dates), as: JobsReply.self).jobs.map(\.id)
        }
        let processorTime = daemon.processorTime
        let start = ContinuousClock.now
        for list in ids.batches(of: size) {
            let request = Request.invalidateJobs(InvalidateJobs(.ids(Array(list))))
            _ = try await client.call(request, as: JSONValue.self)
        }
        let seconds = (ContinuousClock.now - start).inSeconds
        let cost = (daemon.processorTime - processorTime) * 1e6 / Double(count)
        return Round(ours: RawLoad.Result(rate: Double(count) / seconds, cost: cost), raw: deleted)
    }
}

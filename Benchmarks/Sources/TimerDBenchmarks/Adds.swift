// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// How many jobs a second can be added so that they outlive a power failure.
struct Adds: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Durable adds a second, beside raw SQLite commits.",
        discussion: """
            One client with one request in flight, 8 such clients, 8 with 16 in flight each, and \
            one with 100 jobs a request. Raw SQLite inserts one row of about the same length a \
            commit, and 100, in the same folder. All take turns in short slices, so that what \
            disturbs the disk disturbs each of them.
            """
    )

    @OptionGroup var common: CommonOptions

    @Option(help: "How often each is measured; the medians are shown.")
    var rounds = 12

    @Option(help: "How long each is measured in a round.")
    var seconds = 0.5

    func validate() throws {
        guard 1...100 ~= rounds, 0.1...60 ~= seconds else {
            throw ValidationError("accepted: 1 to 100 rounds, 0.1 to 60 seconds")
        }
    }

    func run() async throws { try await common.perform { try await measure(on: $0) } }

    /// What takes turns.
    private enum Kind: CaseIterable {
        case rawOne, one, eight, pipelined, batches, rawHundred
    }

    private struct Round {
        var rates: [Kind: Double] = [:]
        var daemons: [Kind: AddLoad.Result] = [:]

        func rate(_ kind: Kind) -> Double { rates[kind] ?? .nan }
        func cost(_ kind: Kind) -> Double { daemons[kind]?.cost ?? .nan }
        func clientCost(_ kind: Kind) -> Double { daemons[kind]?.clientCost ?? .nan }
    }

    func measure(on bench: Bench) async throws {
        try bench.folder.removeDatabase("adds.db")
        let raw = try RawLoad(bench.folder.file("raw.db"))
        let measured = try await DaemonProcess.with(bench, database: "adds.db") { daemon in
            // Until its log has been used once over, as the other's.
            _ = try await AddLoad.batches.run(on: daemon, seconds: 2)
            var done: [Round] = []
            for number in 1...rounds {
                bench.report.progress("adds, round \(number) of \(rounds)")
                done.append(try await round(number, on: daemon, raw))
            }
            return done
        }
        try bench.report.table("Durable adds a second", figures(measured))
    }

    private func figures(_ rounds: [Round]) -> [Figure] {
        func rate(_ name: String, _ kind: Kind) -> Figure {
            Figure(name, over: rounds.map { $0.rate(kind) }, .perSecond)
        }
        func cost(_ name: String, _ kind: Kind) -> Figure {
            Figure("processor time, \(name)", over: rounds.map { $0.cost(kind) }, .microseconds)
                .beside("the clients'", rounds.median { $0.clientCost(kind) })
        }
        let raw = Samples(rounds.map { $0.rate(.rawOne) })
        let rawHundred = rounds.median { $0.rate(.rawHundred) }
        let one = "SQLite, 1 row a commit"
        let hundred = "SQLite, 100 rows a commit"
        let gains = rounds.map { $0.rate(.eight) / $0.rate(.one) }
        // Either the disk was not the same disk throughout, or what cannot be was measured: a
        // client that waits for each commit is not faster than the commits alone.
        let isNoisy =
            raw.percentile(75) > 2 * raw.percentile(25)
            || rounds.median { $0.rate(.one) } > raw.median
        return [
            rate("1 client", .one).beside(one, raw.median),
            rate("8 clients", .eight).beside(one, raw.median),
            rate("8 clients, 16 in flight each", .pipelined).beside(hundred, rawHundred),
            rate("batches of 100", .batches).beside(hundred, rawHundred),
            Figure("8 clients by 1 client", over: gains, .ratio)
                .expecting("at least 4", Samples(gains).median >= 4, isNoisy: isNoisy),
            Figure(
                "8 with 16 in flight by 1 client",
                over: rounds.map { $0.rate(.pipelined) / $0.rate(.one) },
                .ratio
            ),
            cost("1 client", .one),
            cost("8 clients", .eight),
            cost("16 in flight", .pipelined),
            cost("batches", .batches),
            rate(one, .rawOne),
        ]
    }

    /// Each round has an order of its own: whoever follows the heaviest writer has a slower disk.
    private func round(
        _ number: Int,
        on daemon: DaemonProcess,
        _ raw: RawLoad
    ) async throws -> Round {
        var round = Round()
        var random = SplitMix(seed: UInt64(number))
        for kind in Kind.allCases.shuffled(using: &random) {
            let load: AddLoad
            switch kind {
            case .rawOne:
                round.rates[kind] = try await raw.inserts(perCommit: 1, seconds: seconds)
                continue
            case .rawHundred:
                round.rates[kind] = try await raw.inserts(perCommit: 100, seconds: seconds)
                continue
            case .one: load = .oneClient
            case .eight: load = .eightClients
            case .pipelined: load = .eightPipelined
            case .batches: load = .batches
            }
            let result = try await load.run(on: daemon, seconds: seconds)
            round.rates[kind] = result.rate
            round.daemons[kind] = result
        }
        return round
    }
}

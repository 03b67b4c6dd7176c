// SPDX-License-Identifier: Apache-2.0

/// The figures of adding, each with what issue 14 promises of it.
struct AddFigures {
    var rounds: [AddRound]
    var counts: AddCounts

    var all: [Figure] {
        [
            rate("1 client", .one, atLeast: 0.6),
            rate("8 clients", .eight, atLeast: 2),
            rate("8 clients, 16 in flight each", .pipelined, atLeast: 4),
            rate("batches of 100", .batches, atLeast: 0.5),
            rate("batches of 1,000", .largeBatches, atLeast: 0.5),
            cost("1 client", .one).reaching(atMost: 120),
            cost("8 clients", .eight),
            cost("16 in flight", .pipelined),
            cost("batches of 100", .batches).reaching(atMost: 15),
            cost("batches of 1,000", .largeBatches).reaching(atMost: 15),
            clientCost("1 client", .one),
            clientCost("batches of 100", .batches),
        ] + counts.figures
    }

    /// Either the disk was not the same disk throughout, or what cannot be was measured: a client that
    /// waits for each commit is not faster than the commits alone.
    private var isNoisy: Bool {
        let raw = Samples(rounds.map { $0.rate(.rawOne) })
        return raw.percentile(75) > 2 * raw.percentile(25)
            || rounds.median { $0.rate(.one) } > raw.median
    }

    private func rate(_ name: String, _ kind: AddRound.Kind, atLeast ratio: Double) -> Figure {
        Figure(name, over: rounds.map { $0.rate(kind) }, .perSecond)
            .beside(raw(kind), rounds.median { $0.rate(kind.raw) })
            .reaching(atLeast: ratio, isNoisy: isNoisy)
    }

    private func cost(_ name: String, _ kind: AddRound.Kind) -> Figure {
        Figure("processor time, \(name)", over: rounds.map { $0.cost(kind) }, .microseconds)
            .beside(raw(kind), rounds.median { $0.cost(kind.raw) })
    }

    private func clientCost(_ name: String, _ kind: AddRound.Kind) -> Figure {
        Figure("the clients', \(name)", over: rounds.map { $0.clientCost(kind) }, .microseconds)
    }

    private func raw(_ kind: AddRound.Kind) -> String {
        kind.perCommit == 1 ? "SQLite, 1 row a commit" : "SQLite, \(kind.perCommit) rows a commit"
    }
}

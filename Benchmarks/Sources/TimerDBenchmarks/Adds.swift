// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// How many jobs a second can be added so that they outlive a power failure, and what each costs.
struct Adds: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Durable adds a second, beside raw SQLite commits.",
        discussion: """
            One client with one request in flight, 8 such clients, 8 with 16 in flight each, and \
            one with 100 and with 1,000 jobs a request. Raw SQLite inserts rows of about the same \
            bytes in the same folder, 1, 100 and 1,000 a commit. All take turns in short slices, \
            so that what disturbs the disk disturbs each of them. Then the same with jobs that \
            have a name, tags and a userInfo of 200 bytes, an owner who is not root and three \
            watchers. System calls and pages of the log are counted in short passes of their own, \
            as strace slows down what it counts.
            """
    )

    @OptionGroup var common: CommonOptions

    @Option(help: "How often each is measured; the medians are shown.")
    var rounds = 6

    @Option(help: "How long each is measured in a round.")
    var seconds = 0.5

    func validate() throws {
        guard 1...100 ~= rounds, 0.1...60 ~= seconds else {
            throw ValidationError("accepted: 1 to 100 rounds, 0.1 to 60 seconds")
        }
    }

    func run() async throws { try await common.perform { try await measure(on: $0) } }

    func measure(on bench: Bench) async throws {
        for shape in JobShape.allCases {
            try bench.folder.removeDatabase("adds.db")
            try bench.folder.removeDatabase("raw.db")
            let raw = try RawLoad(bench.folder.file("raw.db"))
            let counts = try await AddCounts.measure(shape, on: bench, raw)
            let rounds = try await measure(shape, on: bench, raw)
            let title = shape == .plain ? "Durable adds" : "Durable adds of jobs that have all"
            let figures = AddFigures(rounds: rounds, counts: counts).all
            try bench.report.table(title, figures, notes: counts.notes)
        }
    }

    private func measure(
        _ shape: JobShape,
        on bench: Bench,
        _ raw: RawLoad
    ) async throws -> [AddRound] {
        try await DaemonProcess.with(bench, database: "adds.db", settings: AddLoad.settings) {
            daemon in
            // Until its log has been used once over, as the other's.
            _ = try await AddLoad.batches.shaped(shape).run(on: daemon, seconds: 1)
            let watchers = try Watchers(shape == .full ? 3 : 0, of: daemon)
            defer { watchers.close() }
            var done: [AddRound] = []
            for number in 1...rounds {
                bench.report.progress("adds, \(shape), round \(number) of \(rounds)")
                done.append(
                    try await AddRound.measure(number, shape, on: daemon, raw, seconds: seconds)
                )
            }
            return done
        }
    }
}

extension AddLoad {
    /// A user may add more than he may by default.
    static let settings = [
        "TIMERD_MAX_JOBS_PER_USER": "100000000",
        "TIMERD_MAX_BYTES_PER_USER": "1000000000000",
    ]
}

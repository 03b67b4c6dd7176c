// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `timerd-benchmarks`: measures the real daemon, and what the machine could do, in the same run.
@main
struct TimerDBenchmarks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timerd-benchmarks",
        abstract: "Measures timerd beside the machine's limits.",
        discussion: """
            Each benchmark starts a release build of timerd on a database in a new folder, talks \
            to it over its socket, and prints each figure beside what the machine could do at \
            best, measured in the same run. Then it stops what it started and removes the folder.
            """,
        subcommands: [
            Adds.self, Cancels.self, Fires.self, Lateness.self, Steady.self, Burst.self, Runs.self,
            Client.self, Idle.self, Timers.self, ScheduleDates.self, Million.self, All.self,
        ]
    )
}

/// Everything, one after another.
struct All: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Every benchmark, in fewer rounds than its default has; about eleven minutes."
    )

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.perform { bench in
            try await Adds.parse([]).measure(on: bench)
            try await Cancels.parse([]).measure(on: bench)
            try await Fires.parse([]).measure(on: bench)
            try await Lateness.parse([]).measure(on: bench)
            try await Steady.parse([]).measure(on: bench)
            try await Burst.parse([]).measure(on: bench)
            try await Runs.parse(["--rounds", "1", "--runs", "1000", "--dates", "100"])
                .measure(on: bench)
            try await Client.parse(["--rounds", "30"]).measure(on: bench)
            try await Idle.parse([]).measure(on: bench)
            try await Timers.parse(["--rounds", "3"]).measure(on: bench)
            try await ScheduleDates.parse(["--rounds", "1"]).measure(on: bench)
            try await Million.parse(["--idle", "10", "--starts", "3", "--rounds", "3"])
                .measure(on: bench)
        }
    }
}

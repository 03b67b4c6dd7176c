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
            Lateness.self, Adds.self, Fires.self, Runs.self, Timers.self, ScheduleDates.self,
            Million.self,
            All.self,
        ]
    )
}

/// Everything, one after another.
struct All: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Every benchmark with its defaults; about ten minutes."
    )

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.perform { bench in
            try await Lateness.parse([]).measure(on: bench)
            try await Adds.parse([]).measure(on: bench)
            try await Fires.parse([]).measure(on: bench)
            try await Runs.parse([]).measure(on: bench)
            try await Timers.parse([]).measure(on: bench)
            try await ScheduleDates.parse([]).measure(on: bench)
            try await Million.parse([]).measure(on: bench)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// `timerctl pause`: disarms jobs until they are resumed.
struct Pause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pause jobs: none of them fires until it is resumed.",
        discussion: """
            What becomes of the dates that pass in between is up to each job's --misfire policy.

            Examples:
              timerctl pause 2 3
              timerctl pause --tag work
            """
    )

    @OptionGroup var jobs: JobSelectionArguments

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await Daemon.change(jobs, common, Request.pauseJobs) { job in
            "\(job.title): \(job.state.rawValue)"
        }
    }
}

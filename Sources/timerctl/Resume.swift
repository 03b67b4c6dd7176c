// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl resume`: arms paused jobs.
struct Resume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Resume paused jobs, and those added with --paused.",
        discussion: """
            Dates that passed meanwhile follow each job's --misfire policy.

            Examples:
              timerctl resume 2
              timerctl resume --tag work
            """
    )

    @OptionGroup var jobs: JobSelectionArguments

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await Daemon.change(jobs, common, Request.resumeJobs) { job in
            job.nextFireSentence(LocalDate(now: .now, zone: .local))
        }
    }
}

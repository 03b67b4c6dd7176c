// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl

/// `timerctl skip`: drops the next dates of jobs.
struct Skip: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "skip",
        abstract: "Drop the next fire dates of jobs.",
        discussion: """
            A date that is dropped does not fire; 'timerctl runs' shows it with the reason. The \
            dates after it are as they were; a one-shot is finished by it.

            Examples:
              timerctl skip 2
              timerctl skip --name backup -n 3
            """
    )

    @OptionGroup var jobs: JobSelectionArguments

    @Option(
        name: .customShort("n"),
        parsing: .unconditional,
        help: ArgumentHelp("How many dates.", valueName: "number")
    )
    var number = 1

    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard 1...10_000 ~= number else {
            throw ValidationError("-n is '\(number)', accepted is 1 to 10000")
        }
    }

    func run() async throws {
        let dates = LocalDate(now: .now, zone: .local)
        try await Daemon.change(jobs, common) {
            Request.skipJobs(SkipJobs(jobs: $0, count: number))
        } _: {
            $0.nextFireSentence(dates)
        }
    }
}

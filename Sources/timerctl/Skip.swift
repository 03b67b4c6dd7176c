// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl skip`: drops the next dates of jobs.
struct Skip: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "skip",
        abstract: "Drop the next fire dates of jobs.",
        discussion: """
            A date that is dropped does not fire; 'timerctl runs' shows it with the reason. The \
            dates after it are as they were; a one-shot is finished by it. Of all jobs together \
            100,000 dates at most are dropped at once, or one of each.

            Examples:
              timerctl skip 2
              timerctl skip backup --count 3
            """
    )

    @OptionGroup var jobs: JobSelectionArguments

    @Option(
        name: [.customShort("n"), .customLong("count")],
        parsing: .unconditional,
        help: ArgumentHelp(
            "How many dates of each; 1 unless several jobs are named.",
            valueName: "number"
        ),
        transform: wholeNumber("--count (-n)", "from 1 to 10000")
    )
    var number: Int?

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if let number, !(1...10_000 ~= number) {
            throw ValidationError("--count (-n) is '\(number)', accepted is 1 to 10000")
        }
        // "skip 2 5" could be read as five dates of job 2.
        if number == nil, jobs.jobs.count > 1 {
            throw ValidationError(
                "several jobs: say --count, so many dates of each; 'skip 2 --count 5' drops five dates "
                    + "of job 2, and 'skip 2 5 --count 1' the next date of both"
            )
        }
    }

    func run() async throws {
        let dates = LocalDate(now: .now, zone: .local)
        try await Daemon.change(jobs, common) {
            Request.skipJobs(SkipJobs(jobs: $0, count: number ?? 1))
        } _: {
            sentence(of: $0, dates)
        }
    }

    /// "job 2: next fire in 10 s, at 09:00:10; the next date is dropped".
    func sentence(of job: Job, _ dates: LocalDate) -> String {
        "\(job.nextFireSentence(dates)); \(dropped(of: job))"
    }

    private func dropped(of job: Job) -> String {
        let count = number ?? 1
        if count == 1 { return "the next date is dropped" }
        // It had as many, or fewer.
        guard job.state.isLive else { return "all dates that it had left are dropped" }
        return "the next \(count) dates are dropped"
    }
}

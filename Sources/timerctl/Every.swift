// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// `timerctl every`: a job that fires again and again; short for `add --every`.
struct Every: AsyncParsableCommand, JobCommand {
    static let configuration = CommandConfiguration(
        commandName: "every",
        abstract: "Add a job that fires again and again, that far apart: short for 'add --every'.",
        discussion: """
            Examples:
              timerctl every 5s --name heartbeat -- curl -fsS http://localhost/
              timerctl every 1h --from 09:00 --count 8 -- sync
            """
    )

    @Argument(help: ArgumentHelp("How far apart: 5s, '1h 30min'.", valueName: "duration"))
    var interval: String

    @Option(.from) var from: String?
    @Option(.tz, unset: "yours") var tz: String?

    @OptionGroup var general: GeneralOptions
    @OptionGroup var new: NewJobOptions

    @OptionGroup(title: "Runs")
    var runs: RunOptions

    @OptionGroup(title: "Notices")
    var notices: NoticeOptions

    @OptionGroup(title: "Queues")
    var queues: QueueOptions

    @OptionGroup var common: CommonOptions

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The program and its arguments, after '--'.", valueName: "command")
    )
    var command: [String] = []

    /// The schedule in the options of `add`.
    var schedule: ScheduleOptions {
        get throws {
            let rest = [("--from", from), ("--tz", tz)].flatMap { option, value in
                value.map { [option, $0] } ?? []
            }
            return try ScheduleOptions.parse(["--every", interval] + rest)
        }
    }

    mutating func validate() throws {
        try schedule.check(until: job.general.until)
        try job.check(command: command)
    }

    func run() async throws {
        try await job.add(schedule, command: command)
    }
}

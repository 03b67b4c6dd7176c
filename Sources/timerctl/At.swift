// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// `timerctl at`: a job that fires once; short for `add --at`.
struct At: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "at",
        abstract: "Add a job that fires once, then: short for 'add --at'.",
        discussion: """
            Examples:
              timerctl at 'tomorrow 09:00' -- sh -c 'date >> /tmp/mornings'
              timerctl at +10m --user-info '{"text":"tea"}'
            """
    )

    @Argument(
        help: ArgumentHelp("When: '2026-12-01 09:00', 'tomorrow 09:00', +10m.", valueName: "date")
    )
    var date: String

    @Option(.tz, unset: "yours") var tz: String?

    @OptionGroup
    var job: JobOptions

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The program and its arguments, after '--'.", valueName: "command")
    )
    var command: [String] = []

    /// The schedule in the options of `add`.
    var schedule: ScheduleOptions {
        get throws {
            let zone = tz.map { ["--tz", $0] } ?? []
            return try ScheduleOptions.parse(["--at", date] + zone)
        }
    }

    mutating func validate() throws {
        try job.check(command: command)
    }

    func run() async throws {
        try await job.add(schedule, command: command)
    }
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Platform
import Schedules
import TimerControl

/// `timerctl add`: a new job.
struct Add: AsyncParsableCommand, JobCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a job: a command, or an event alone, at a time.",
        discussion: """
            Prints the new job's id; on standard error, when it fires first. The command is run \
            as given, by no shell, with userInfo as JSON on its standard input. Without a command \
            each fire is an event for whoever watches.

            Examples:
              timerctl add --every 5s --name heartbeat -- curl -fsS http://localhost/
              timerctl add --in 30m --user-info '{"text":"stand up"}'
              timerctl add --at 'tomorrow 09:00' -- sh -c 'date >> /tmp/mornings'
              timerctl add --every 1h --from 09:00 --count 8 --tag work -- sync
            """
    )

    @OptionGroup(title: "Schedule")
    var schedule: ScheduleOptions

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
        parsing: .captureForPassthrough,
        help: ArgumentHelp(
            "The program and its arguments, after all options of add; '--' may precede it.",
            valueName: "command"
        )
    )
    var words: [String] = []

    /// The program and its arguments; empty for an event.
    var command: [String] { Array(words.first == "--" ? words.dropFirst() : words[...]) }

    mutating func validate() throws {
        if words == ["--"] { throw ValidationError("no command after '--'") }
        // Our own options, which came through among the command's words.
        if ["-h", "--help"].contains(words.first) { throw CleanExit.helpRequest(self) }
        if words.first == "--version" { throw CleanExit.message(Timerctl.configuration.version) }
        if let first = words.first, first.hasPrefix("-"), first != "--", first != "-" {
            // Taken as a word of the command, it would become the program's name.
            let near = Spelling.nearest(
                to: String(first.drop { $0 == "-" }.prefix { $0 != "=" }),
                among: Self.optionNames
            )
            throw ValidationError(
                "unknown option '\(first)'\(near.map { ", perhaps '--\($0)'" } ?? ""); a command that "
                    + "begins so goes after '--'"
            )
        }
        try schedule.check(until: job.general.until)
        if let first = words.first, first != "--" { try schedule.checkEnd(before: first) }
        try job.check(command: command)
    }

    private static let optionNames =
        JobOption.allCases.compactMap(\.flag)
        + ["shell", "replace", "event", "quiet", "dry-run", "user", "socket", "json", "help"]

    func run() async throws {
        try await job.add(schedule, command: command)
    }
}

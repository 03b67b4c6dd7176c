// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl at`: a job that fires once; short for `add --at`, with a script on standard input.
struct At: AsyncParsableCommand, JobCommand {
    static let configuration = CommandConfiguration(
        commandName: "at",
        abstract: "Add a job that fires once, then; without a command, a script from stdin.",
        discussion: """
            Without a command the script is read from standard input, or from a file with -f, as \
            at(1) does: /bin/sh runs it in the working directory, with the umask and the \
            environment of now. With a command it is 'add --at'.

            Examples:
              echo 'make backup' | timerctl at 4pm + 3 days
              timerctl at next friday noon -f cleanup.sh
              timerctl at 'tomorrow 09:00' -- sh -c 'date >> /tmp/mornings'
              timerctl at +10m --event --user-info '{"text":"tea"}'

            As with at(1), 'at -l' is atq, 'at -d JOB' is atrm, and 'at -c JOB' shows what is run.
            """
    )

    @OptionGroup var date: DateArgument

    @Option(
        name: .customShort("t"),
        help: ArgumentHelp("When, as touch(1) has it.", valueName: "[[CC]YY]MMDDhhmm[.SS]")
    )
    var touch: String?

    @Option(.tz, unset: "yours") var tz: String?

    @OptionGroup var queue: AtOptions

    @OptionGroup var general: GeneralOptions
    @OptionGroup var new: NewJobOptions

    @OptionGroup(title: "Runs")
    var runs: RunOptions

    @OptionGroup(title: "Notices")
    var notices: NoticeOptions

    @OptionGroup(title: "Queues")
    var queues: QueueOptions

    @OptionGroup var common: CommonOptions

    @OptionGroup var words: ScriptArguments

    var script: AtScript { AtScript(job: job, words: words) }

    /// The schedule in the options of `add`.
    var schedule: ScheduleOptions {
        get throws {
            let zone = tz.map { ["--tz", $0] } ?? []
            guard let touch else { return try ScheduleOptions.parse(["--at", date.text] + zone) }
            let now = LocalDate(now: .now, zone: .local).full(.now)
            guard let words = TouchDate.words(touch, year: Int(now.prefix(4)) ?? 0) else {
                throw ValidationError(
                    "-t '\(touch)' is no date, expected [[CC]YY]MMDDhhmm[.SS], such as 202612241000"
                )
            }
            return try ScheduleOptions.parse(["--at", words] + zone)
        }
    }

    mutating func validate() throws {
        try script.check()
        // Here, where a refusal names this command's help.
        if touch != nil, date.words.isEmpty { _ = try schedule }
        guard date.words.isEmpty == (touch != nil) else {
            throw ValidationError(
                touch == nil
                    ? "no date; such as 'tomorrow 09:00', +10m, noon"
                    : "-t and the date '\(date.text)' exclude each other"
            )
        }
    }

    func run() async throws {
        let schedule = try schedule
        var script = script
        try queue.apply(to: &script)
        do {
            try await script.add(schedule)
        } catch let error as ScheduleError where date.words.count > 1 {
            throw ScheduleError(error.code, "\(error.message) (a command goes after '--')")
        }
    }
}

/// A date of several words, without quotes, as at(1) takes it.
///
/// Single arguments, as argument-parser takes none after an array: a command follows.
struct DateArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "When: '2026-12-01 09:00', tomorrow 09:00, +10m, noon, 4pm + 3 days.",
            valueName: "date"
        )
    )
    var first: String?

    @Argument(help: .hidden) var second: String?
    @Argument(help: .hidden) var third: String?
    @Argument(help: .hidden) var fourth: String?
    @Argument(help: .hidden) var fifth: String?
    @Argument(help: .hidden) var sixth: String?
    @Argument(help: .hidden) var seventh: String?
    @Argument(help: .hidden) var eighth: String?
    @Argument(help: .hidden) var ninth: String?
    @Argument(help: .hidden) var tenth: String?
    @Argument(help: .hidden) var eleventh: String?
    /// "10:00 am UTC Thu 24 Dec 2026 + 1 month 2 days" has twelve words.
    @Argument(help: .hidden) var twelfth: String?
    @Argument(help: .hidden) var thirteenth: String?
    @Argument(help: .hidden) var fourteenth: String?
    @Argument(help: .hidden) var fifteenth: String?
    @Argument(help: .hidden) var sixteenth: String?

    var words: [String] {
        let all = [
            first, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth, eleventh,
            twelfth, thirteenth, fourteenth, fifteenth, sixteenth,
        ]
        return all.compactMap(\.self)
    }

    var text: String { words.joined(separator: " ") }
}

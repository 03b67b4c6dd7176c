// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl set-fire-date`: moves a job's next fire.
struct SetFireDate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set-fire-date",
        abstract: "Move a job's next fire to a date.",
        discussion: """
            The whole grid of a job that repeats by an interval moves along; of a cron or calendar \
            job the next fire moves alone, and stands for the dates it passes. Dates: RFC 3339, \
            '2026-12-01 09:00', 09:00 (the next one), 'tomorrow 09:00', 'mon 09:00', +10m, \
            @1700000000; read in your own time zone where they name none.

            Examples:
              timerctl set-fire-date 2 tomorrow 09:00
              timerctl set-fire-date --name heartbeat +10m
            """
    )

    @Option(help: "The name of a live job, also of one that looks like an id.", completion: .jobs)
    var name: String?

    @OptionGroup var common: CommonOptions

    @Argument(
        help: ArgumentHelp(
            "The job's id or name, unless --name is given, and the date.",
            valueName: "job> <date"
        ),
        completion: .jobs
    )
    var words: [String]

    mutating func validate() throws {
        if name == nil { _ = try jobReference(words[0]) }
        guard words.count > (name == nil ? 1 : 0) else {
            throw ValidationError("no date; try 'tomorrow 09:00' or '+10m'")
        }
    }

    func run() async throws {
        let (request, note) = try request(now: .now, local: .local)
        let answer = try await Daemon.ask(common, request, for: JobReply.self)
        for note in [note].compactMap(\.self) + (answer.value.notes ?? []) {
            Output.complain("note: \(note)")
        }
        let (job, dates) = (answer.value.job, LocalDate(now: .now, zone: .local))
        try Output.write(
            common.json ? answer.jsonLine("job") : "\(job.nextFireSentence(dates))\n",
            done: "the next fire of job \(job.id) was moved"
        )
    }

    func request(now: Timestamp, local: Zone) throws -> (request: Request, note: String?) {
        let job: JobReference = try name.map { .name($0) } ?? jobReference(words[0])
        let text = words.dropFirst(name == nil ? 1 : 0).joined(separator: " ")
        let (date, note) = try DateExpression.parse(text, now: now, zone: local)
        return (.setFireDate(TimerControl.SetFireDate(job: job, fireDate: date.rfc3339)), note)
    }
}

extension Job {
    /// "job 2 (standup): next fire in 14 h, tomorrow at 09:00:00".
    func nextFireSentence(_ dates: LocalDate) -> String {
        guard state.isLive, let fireDate = nextFire else { return "\(title): \(state.rawValue)" }
        let when = "\(dates.distance(fireDate)), \(dates.phrase(fireDate))"
        return state == .paused
            ? "\(title): paused; once resumed, next fire \(when)" : "\(title): next fire \(when)"
    }
}

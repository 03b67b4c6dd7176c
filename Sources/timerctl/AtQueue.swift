// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl atq`: the jobs that fire once, as at(1) lists its queue.
struct Atq: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "atq",
        abstract: "List the live jobs that fire once, as atq(1) does.",
        discussion: """
            A line each: the id, a tab, the date of the next fire, the letter of its queue (of its tag \
            'queue:c', else 'a'), and the owner. 'timerctl list' shows all jobs, with their names.
            """
    )

    @Option(
        name: .customShort("q"),
        help: ArgumentHelp("Only jobs of this queue, a to z or A to Z.", valueName: "letter"),
        transform: { try AtQueueLetter(stated: $0) }
    )
    var queue: AtQueueLetter?

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        var request = ListJobs()
        request.order = .nextFire
        let jobs = try await daemon.jobs(request).filter { job in
            job.firesOnce && (queue.map { $0 == .of(job) } ?? true)
        }
        if common.json {
            return try Output.write(
                try jobs.map { try JSONValue(encoding: $0).jsonText + "\n" }.joined()
            )
        }
        let dates = LocalDate(now: .now, zone: .local)
        try Output.write(jobs.map { Self.line($0, dates) + "\n" }.joined())
    }

    /// "5\tThu Dec 24 10:00:00 2026 a user".
    static func line(_ job: Job, _ dates: LocalDate) -> String {
        let date = job.state == .paused ? "paused" : job.nextFire.map(dates.asctime) ?? "held"
        return "\(job.id)\t\(date) \(AtQueueLetter.of(job).letter) \(Printable.escaped(job.owner))"
    }
}

/// `timerctl atrm`: ends jobs, all of those that are named or none.
struct Atrm: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "atrm",
        abstract: "End jobs for good, as atrm(1) does: 'timerctl invalidate' by its other name."
    )

    @OptionGroup var jobs: JobSelectionArguments

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await Invalidate.end(jobs, kill: false, common)
    }
}

extension Job {
    /// Whether its schedule has one date.
    var firesOnce: Bool { definition.schedule.at != nil || definition.schedule.in != nil }
}

/// `timerctl at -c`: what jobs run, as at(1) shows it.
struct Atc: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "atc",
        abstract: "Show what jobs run, as at -c does: a script as it was read.",
        shouldDisplay: false
    )

    @OptionGroup var jobs: JobArguments

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await Daemon.forEach(jobs.references, common) { daemon, job in
            let answer = try await daemon.ask(.getJob(job), for: JobReply.self)
            if common.json { return try Output.write(answer.jsonLine("job")) }
            try Output.write(Self.script(answer.value.job.definition) + "\n")
        }
    }

    /// The script of /bin/sh, else the command as it would be typed.
    static func script(_ definition: JobDefinition) -> String {
        guard let command = definition.command else { return "# an event, which runs nothing" }
        guard command.count == 3, command == .shell(command[2]) else {
            return ShellWords.joined(command)
        }
        return command[2].hasSuffix("\n") ? String(command[2].dropLast()) : command[2]
    }
}

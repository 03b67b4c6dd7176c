// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl

/// A new job but for its schedule and its command: the options that `add`, `at` and `every` share.
struct JobOptions: ParsableArguments {
    @Option(help: "A name, yours alone among live jobs.")
    var name: String?

    @Option(name: .customLong("tag"), help: "A tag; may be given several times.")
    var tags: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "JSON for the command and for watchers; @FILE or - reads it.",
            valueName: "json"
        )
    )
    var userInfo: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("End after that many fires.", valueName: "n")
    )
    var count: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("No fire after this date.", valueName: "date")
    )
    var until: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How late a fire may be, to share a wake-up.",
            valueName: "duration"
        )
    )
    var tolerance: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Put each fire off by less than this, by as much each time for the same date.",
            valueName: "duration"
        )
    )
    var jitter: String?

    @Option(
        help: ArgumentHelp(
            "Missed dates: once, one fire for all (default); skip; all.",
            valueName: "policy"
        ),
        completion: .list(JobDefinition.Misfire.allCases.map(\.rawValue)),
        transform: { try misfirePolicy($0) }
    )
    var misfire: JobDefinition.Misfire?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How many missed dates 'all' makes up for; default 100.",
            valueName: "n"
        )
    )
    var misfireLimit: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How late a date may still fire as late, not missed; default 1min.",
            valueName: "duration"
        )
    )
    var misfireAfter: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "What was due longer ago is never made up for.",
            valueName: "duration"
        )
    )
    var misfireWindow: String?

    @Flag(help: "Add it without arming it; 'timerctl resume' does.")
    var paused = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("End the job when this process has gone.", valueName: "pid")
    )
    var whilePid: Int32?

    @Flag(help: "Stay connected; the job ends when this command does, or the daemon.")
    var whileConnected = false

    @Flag(help: "Take the place of your live job of that --name.")
    var replace = false

    @Option(
        help: ArgumentHelp(
            "The command's working directory; default: the owner's home.",
            valueName: "path"
        ),
        completion: .directory
    )
    var cwd: String?

    @Option(
        name: .customLong("env"),
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "A variable for the command; may be given several times.",
            valueName: "name=value"
        ),
        transform: { try Variable($0) }
    )
    var variables: [Variable] = []

    @OptionGroup(title: "Runs")
    var runs: RunOptions

    @Flag(name: .shortAndLong, help: "Say nothing on standard error of the first fire.")
    var quiet = false

    @OptionGroup var common: CommonOptions

    /// Checks what goes together.
    ///
    /// Not `validate()`, which would speak before a mistyped option of the command is found.
    func check(command: [String]) throws {
        if runs.shell != nil, !command.isEmpty {
            throw ValidationError("--shell and a command exclude each other")
        }
        if whileConnected, whilePid != nil {
            throw ValidationError("--while-pid and --while-connected exclude each other")
        }
        if replace, name == nil { throw ValidationError("--replace needs --name") }
        for (option, number) in [("--count", count), ("--misfire-limit", misfireLimit)] {
            if let number, number < 1 {
                throw ValidationError("\(option) \(number) is not a number from 1")
            }
        }
    }

    /// Adds the job, and says what became of it.
    func add(_ schedule: ScheduleOptions, command: [String]) async throws {
        let (request, notes) = try request(
            schedule,
            command: command,
            now: .now,
            local: .local
        )
        let daemon = try await Daemon.connect(common)
        let answer = try await daemon.ask(request, for: JobReply.self)
        let job = answer.value.job
        try Output.write(common.json ? answer.jsonLine("job") : "\(job.id)\n")
        for note in notes + (answer.value.notes ?? []) { Output.complain("note: \(note)") }
        if !quiet { Output.tell(job.firstFireSentence(in: .local)) }
        if whileConnected { try await daemon.waitForEnd(of: job.id) }
    }

    /// The request, with the notes on its dates that the daemon cannot make any more.
    func request(
        _ schedule: ScheduleOptions,
        command: [String],
        now: Timestamp,
        local: Zone
    ) throws -> (request: Request, notes: [String]) {
        var (words, notes) = try schedule.words(now: now, local: local)
        var definition = JobDefinition(schedule: words)
        definition.name = name
        definition.command = command.isEmpty ? nil : command
        runs.apply(to: &definition)
        definition.userInfo = try userInfo.map { try UserInfo.value(of: $0, read: InputFile.bytes) }
        definition.tags = tags.isEmpty ? nil : tags
        definition.cwd = cwd.map { InputFile.absolutePath($0) }
        definition.env =
            variables.isEmpty
            ? nil : Dictionary(variables.map { ($0.name, $0.value) }) { _, last in last }
        definition.count = count
        if let until {
            let (date, note) = try DateExpression.parse(
                until,
                now: now,
                zone: try schedule.zone(local: local)
            )
            definition.until = date.rfc3339
            notes += [note].compactMap(\.self)
        }
        definition.tolerance = tolerance
        definition.jitter = jitter
        definition.misfire = misfire
        definition.misfireLimit = misfireLimit
        definition.misfireAfter = misfireAfter
        definition.misfireWindow = misfireWindow
        definition.paused = paused ? true : nil
        definition.whilePid = whilePid
        definition.whileConnected = whileConnected ? true : nil
        return (.addJobs(AddJobs(definition, replace: replace)), notes)
    }
}

/// "NAME=VALUE" of `--env`.
struct Variable: Hashable {
    var name: String
    var value: String

    init(_ argument: String) throws {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else {
            throw ValidationError("'\(argument)' is no variable, such as --env NAME=value")
        }
        name = String(parts[0])
        value = String(parts[1])
    }
}

private func misfirePolicy(_ argument: String) throws -> JobDefinition.Misfire {
    guard let policy = JobDefinition.Misfire(rawValue: argument) else {
        throw ValidationError("--misfire '\(argument)' is none of once, skip and all")
    }
    return policy
}

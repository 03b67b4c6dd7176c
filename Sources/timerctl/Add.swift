// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl

/// `timerctl add`: a new job.
struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
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
        // Options of ours, which the pass-through has swallowed.
        if ["-h", "--help"].contains(words.first) { throw CleanExit.helpRequest(self) }
        if words.first == "--version" { throw CleanExit.message(Timerctl.configuration.version) }
        if let first = words.first, first.hasPrefix("-"), first != "--", first != "-" {
            // Passed through with the command's own, it would become the program's name.
            throw ValidationError(
                "unknown option '\(first)'; a command that begins so goes after '--'"
            )
        }
        try schedule.check()
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

    func run() async throws {
        let now = Timestamp.now
        let (request, notes) = try request(
            now: now,
            local: .local,
            isZoneChosen: ScheduleOptions.isZoneChosen
        )
        let daemon = try await Daemon.connect(common)
        let answer = try await daemon.ask(request, for: JobReply.self)
        try Output.write(common.json ? answer.jsonLine("job") : "\(answer.value.job.id)\n")
        for note in notes + (answer.value.notes ?? []) { Output.complain("note: \(note)") }
        if !quiet { Output.tell(Self.firstFire(of: answer.value.job, zone: .local)) }
        if whileConnected { try await daemon.waitForEnd(of: answer.value.job.id) }
    }

    /// The request, with the notes on its dates that the daemon cannot make any more.
    func request(
        now: Timestamp,
        local: Zone,
        isZoneChosen: Bool
    ) throws -> (request: Request, notes: [String]) {
        var (words, notes) = try schedule.words(
            now: now,
            local: local,
            isZoneChosen: isZoneChosen
        )
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

    /// "first fire in 5 s, at 09:00:05": counted from the moment the daemon took it.
    static func firstFire(of job: Job, zone: Zone) -> String {
        if job.state == .paused { return "paused; 'timerctl resume \(job.id)' arms it" }
        guard let date = job.nextFire else { return "fires when the machine starts" }
        let dates = LocalDate(now: job.addedAt, zone: zone)
        return "first fire \(dates.distance(date)), \(dates.phrase(date))"
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

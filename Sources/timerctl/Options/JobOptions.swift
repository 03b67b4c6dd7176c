// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// A command that takes the options of a job.
///
/// Each group lies in the command itself: argument-parser, built for debugging, checks a group within a group four
/// times as often, and one in that sixteen times.
protocol JobCommand {
    var general: GeneralOptions { get }
    var new: NewJobOptions { get }
    var runs: RunOptions { get }
    var notices: NoticeOptions { get }
    var queues: QueueOptions { get }
    var common: CommonOptions { get }
}

extension JobCommand {
    var job: JobOptions {
        JobOptions(
            general: general,
            new: new,
            runs: runs,
            notices: notices,
            queues: queues,
            common: common
        )
    }
}

/// What only a new job takes; `change` refuses it.
struct NewJobOptions: ParsableArguments {
    @Option(.whilePid) var whilePid: StatedOption?
    @Flag(.whileConnected) var whileConnected = false

    @Flag(help: "Make your live job of that --name this one; it keeps its id and its history.")
    var replace = false

    @OptionGroup var forUser: ForUser
}

/// What any job may have, whatever it does.
struct GeneralOptions: ParsableArguments {
    @Option(.name) var name: StatedOption?
    @Option(.tags) var tags: [StatedOption] = []
    @Option(.userInfo) var userInfo: String?
    @Option(.count) var count: StatedOption?
    @Option(.until) var until: String?
    @Option(.tolerance) var tolerance: StatedOption?
    @Option(.jitter) var jitter: StatedOption?
    @Option(.misfire) var misfire: StatedOption?
    @Option(.misfireLimit) var misfireLimit: StatedOption?
    @Option(.misfireAfter) var misfireAfter: StatedOption?
    @Option(.misfireWindow) var misfireWindow: StatedOption?
    @Flag(.paused) var paused = false

    @Option(.cwd) var cwd: String?
    @Option(.env) var env: [StatedOption] = []
    @Option(.envFile) var envFile: [StatedOption] = []
    @Option(.credentials) var credentials: [StatedOption] = []

    @Flag(help: "No command: each fire is an event for whoever watches.")
    var event = false

    // Without a letter: 'at -q' is at(1)'s queue.
    @Flag(help: "Say nothing on standard error of the first fire.")
    var quiet = false

    @Flag(help: "Have the daemon check all of it, say when it would fire, and keep nothing.")
    var dryRun = false
}

/// The options of a job: all but schedule and command.
struct JobOptions {
    var general: GeneralOptions
    var new: NewJobOptions
    var runs: RunOptions
    var notices: NoticeOptions
    var queues: QueueOptions
    var common: CommonOptions

    /// Checks that the options go together.
    ///
    /// Not `validate()`, whose error would come before that of a mistyped option.
    func check(command: [String]) throws {
        if let shell = runs.shell { try StatedOption.requireLine(shell, of: "shell") }
        if runs.shell != nil, !command.isEmpty {
            throw ValidationError("--shell and a command exclude each other")
        }
        if general.event, runs.shell != nil || !command.isEmpty {
            throw ValidationError("--event and a command exclude each other")
        }
        if queues.queue != nil, runs.shell != nil || !command.isEmpty || general.event {
            throw ValidationError(
                "--queue and a command, or --event, exclude each other: a worker does what is to be done"
            )
        }
        if runs.shell == "-", general.userInfo == "-" {
            throw ValidationError(
                "--shell - and --user-info - exclude each other: standard input is read once"
            )
        }
        if new.whileConnected, new.whilePid != nil {
            throw ValidationError("--while-pid and --while-connected exclude each other")
        }
        if new.replace, general.name == nil { throw ValidationError("--replace needs --name") }
        try checkVariables()
        try ScheduleOptions.check("--until", general.until) { (text) throws(ScheduleError) in
            _ = try DateExpression.parse(text, now: .now, zone: .local)
        }
    }

    private func checkVariables() throws {
        var names: Set<String> = []
        for case .variables(let variables) in general.env.map(\.value) {
            for name in variables.keys where !names.insert(name).inserted {
                throw ValidationError(
                    "--env: '\(name)' is given twice; each variable has one value"
                )
            }
        }
    }

    /// Whether nothing says what a fire does, so that it is an event though nobody asked for one.
    func isBare(command: [String]) -> Bool {
        command.isEmpty && runs.shell == nil && queues.queue == nil
            && !general.event && general.userInfo != "-"
    }

    /// Adds the job and prints the answer; a script on standard input is read, or refused, or told to be left there.
    func add(_ schedule: ScheduleOptions, command: [String]) async throws {
        _ = try new.forUser.user()
        var script: JobScript?
        if runs.shell == "-" {
            // What is wrong with the options is said before anybody types a script.
            _ = try request(schedule, command: command, now: .now, local: .local)
            script = try JobScript.standardInput()
        } else if isBare(command: command) {
            try JobScript.refuseDropped(StandardInput.current)
        }
        try await add(schedule, command: command, script: script)
    }

    /// Adds the job, with `script` as its command if there is one, and prints the answer.
    func add(
        _ schedule: ScheduleOptions,
        command: [String],
        script: JobScript?,
        in surroundings: Surroundings? = nil
    ) async throws {
        var (request, notes) = try request(
            schedule,
            command: command,
            now: .now,
            local: .local,
            script: script,
            in: surroundings
        )
        notes += surroundings?.notes ?? []
        let daemon = try await new.forUser.connect(common)
        let lost = try await lostDates(to: request, daemon)
        if general.dryRun { return try await tryOut(request, notes, lost: lost, daemon) }
        let answer = try await daemon.ask(request, for: JobReply.self)
        let job = answer.value.job
        try Output.write(common.json ? answer.jsonLine("job") : "\(job.id)\n", added: job)
        tell(notes, lost: lost, of: answer.value)
        StandardInput.tellIfLeft()
        if answer.value.existing == true {
            Output.complain("note: job \(job.id) has this --key already; nothing was added")
        } else if !general.quiet {
            Output.tell(job.firstFireSentence(in: .local))
        }
        if new.whileConnected { try await daemon.waitForEnd(of: job.id) }
    }

    /// What goes with the dates of the job that `request` replaces, in a sentence: they begin anew, also where the schedule
    /// stays; nil where nothing does.
    private func lostDates(to request: Request, _ daemon: Daemon) async throws -> String? {
        guard case .addJobs(let added) = request, added.replace,
            let name = added.definitions.first?.name,
            let old = try await daemon.liveJob(named: name)
        else { return nil }
        return old.lostDates(now: .now, zone: .local, isTrial: general.dryRun)
    }

    /// `lost`: what goes with the dates of a job that is replaced; none is where there is one of this --key.
    private func tell(_ notes: [String], lost: String?, of reply: JobReply) {
        let lost = reply.existing == true ? nil : lost
        let all = notes + [lost].compactMap(\.self) + (reply.notes ?? [])
        for note in all { Output.complain("note: \(note)") }
    }

    /// Has the daemon say what `request` would come to.
    private func tryOut(
        _ request: Request,
        _ notes: [String],
        lost: String?,
        _ daemon: Daemon
    ) async throws {
        guard case .addJobs(var trial) = request else { return }
        trial.dryRun = true
        let answer = try await daemon.ask(.addJobs(trial), for: JobReply.self)
        let job = answer.value.job
        if common.json { try Output.write(answer.jsonLine("job")) }
        tell(notes, lost: lost, of: answer.value)
        StandardInput.tellIfLeft()
        Output.tell(
            answer.value.existing == true
                ? "tried, nothing would be added: job \(job.id) has this --key already"
                : "tried, nothing was \(new.replace ? "changed" : "added"): it would be '\(job.action)', "
                    + job.firstFireSentence(in: .local, isTrial: true)
        )
    }

    /// The request, with notes on its dates: the daemon gets instants and cannot make these notes.
    func request(
        _ schedule: ScheduleOptions,
        command: [String],
        now: Timestamp,
        local: Zone,
        script: JobScript? = nil,
        in surroundings: Surroundings? = nil
    ) throws -> (request: Request, notes: [String]) {
        var (words, notes) = try schedule.words(now: now, local: local)
        var definition = JobDefinition(schedule: words)
        definition.command = command.isEmpty ? nil : command
        try runs.apply(to: &definition)
        for option in notices.stated + queues.stated { try definition.add(option) }
        let stated = [
            general.name, general.count, general.tolerance, general.jitter, general.misfire,
            general.misfireLimit, general.misfireAfter, general.misfireWindow, new.whilePid,
        ]
        let listed = general.tags + general.env + general.envFile + general.credentials
        for option in stated.compactMap(\.self) + listed { try definition.add(option) }
        definition.userInfo = try general.userInfo.map {
            try UserInfo.value(of: $0, read: InputFile.bytes)
        }
        definition.cwd = general.cwd.map { InputFile.absolutePath($0) }
        if let until = general.until {
            let zone = try schedule.zone(local: local)
            let (date, note) = try DateExpression.parse(until, now: now, zone: zone)
            definition.until = date.rfc3339
            notes += [note].compactMap(\.self)
        }
        if let script { definition.command = script.command }
        surroundings?.apply(to: &definition)
        definition.paused = general.paused ? true : nil
        definition.whileConnected = new.whileConnected ? true : nil
        return (.addJobs(AddJobs(definition, replace: new.replace)), notes)
    }
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl change`: a job that goes on as something else.
struct Change: AsyncParsableCommand, JobCommand {
    static let configuration = CommandConfiguration(
        commandName: "change",
        abstract: "Change a job: its schedule, its command, any option of add.",
        discussion: """
            What is not stated stays as it is. The job keeps its id and its history. With another \
            schedule, or once it becomes an event, a command or a job of a queue, its dates, 'fires' \
            and --count begin anew. Runs in progress go on as they \
            began. Tags and variables that are stated take the place of all that were there, but for \
            the tags by which 'apply', 'crontab' and 'import' find the job again.

            Examples:
              timerctl change backup --every 2h
              timerctl change backup --timeout 10min --unset retries
              timerctl change 2 --tz Europe/Paris
              timerctl change report -- /usr/local/bin/report --full
            """
    )

    @Argument(
        help: ArgumentHelp("The id or name of a job.", valueName: "job"),
        completion: .jobs,
        transform: { try jobReference($0) }
    )
    var reference: JobReference

    @OptionGroup(title: "Schedule")
    var schedule: ScheduleOptions

    // The new job's are refused, with where they belong.
    @OptionGroup var general: GeneralOptions
    @OptionGroup(visibility: .hidden) var new: NewJobOptions

    @OptionGroup(title: "Runs")
    var runs: RunOptions

    @OptionGroup(title: "Notices")
    var notices: NoticeOptions

    @OptionGroup(title: "Queues")
    var queues: QueueOptions

    @OptionGroup var common: CommonOptions

    @Option(
        help: ArgumentHelp(
            "Take an option away, as if it had never been said.",
            valueName: "option"
        ),
        completion: .list(JobOption.allCases.filter { !$0.isOfSchedule }.map(\.rawValue)),
        transform: { try JobOption.unsettable($0) }
    )
    var unset: [JobOption] = []

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The program and its arguments, after '--'.", valueName: "command")
    )
    var command: [String] = []

    mutating func validate() throws {
        if new.replace { throw ValidationError("--replace belongs to 'add'") }
        if new.forUser.name != nil {
            throw ValidationError("--user belongs to 'add' and 'copy'; a job stays its owner's")
        }
        if new.whilePid != nil { throw ValidationError("--while-pid belongs to 'add'") }
        if new.whileConnected { throw ValidationError("--while-connected belongs to 'add'") }
        try schedule.checkOne(until: general.until)
        try job.check(command: command)
    }

    func run() async throws {
        let script = runs.shell == "-" ? try JobScript.standardInput() : nil
        let daemon = try await Daemon.connect(common)
        let found = try await daemon.ask(.getJob(reference), for: JobReply.self)
        let old = found.value.job
        try old.requireUntied()
        try old.requireTold()
        let changed = try ChangedDefinition(
            of: old.restated,
            schedule,
            job,
            unset: unset,
            command: command,
            now: .now,
            local: .local,
            script: script
        )
        for note in changed.notes { Output.complain("note: \(note)") }
        // Of what is held a change may be the end of that, whatever it says.
        guard !old.state.isLive || old.held != nil || changed.isAnother else {
            try Output.write(common.json ? found.jsonLine("job") : "\(old.title): no changes\n")
            return StandardInput.tellIfLeft()
        }
        let revision = JobRevision(of: old, changed.definition)
        let lost = old.lostDates(
            as: changed.definition,
            now: .now,
            zone: .local,
            isTrial: general.dryRun
        )
        try await daemon.change(
            revision,
            dryRun: general.dryRun,
            json: common.json,
            notes: [lost].compactMap(\.self)
        ) { new in
            general.quiet ? nil : new.nextFireSentence(in: .local, after: old)
        }
        StandardInput.tellIfLeft()
    }
}

extension Daemon {
    /// Makes a job what is said, and prints it; `notes`, once that is done, and `sentence` go to standard error.
    func change(
        _ revision: JobRevision,
        dryRun: Bool = false,
        json: Bool,
        notes: [String] = [],
        sentence: (Job) -> String?
    ) async throws {
        let request = Request.applyJobs(ApplyJobs(change: [revision], dryRun: dryRun))
        let answer: Answer<ApplyReply>
        do {
            answer = try await ask(request, for: ApplyReply.self)
        } catch {
            // Its place among others says nothing where it is the only one.
            throw error.saying(error.message.replacing("change[0]: ", with: ""))
        }
        guard let job = answer.value.changed.first else { return }
        try Output.write(
            json
                ? answer.jsonLines("changed")
                : "\(job.title): \(dryRun ? "would be changed" : "changed")\n",
            done: dryRun ? "nothing was changed" : "job \(job.id) was changed"
        )
        // It keeps its id where it could be read.
        if job.id != revision.id {
            let other = dryRun ? "another job would take" : "job \(job.id) takes"
            Output.complain(
                "note: job \(revision.id) cannot be read; \(other) its place, without its history"
            )
        }
        for note in notes + (answer.value.notes ?? []) { Output.complain("note: \(note)") }
        if let sentence = sentence(job) { Output.tell(sentence) }
    }
}

extension Job {
    /// - Throws: 1 for a job that ends with a process or a connection.
    ///
    /// The daemon would say of what it is sent that it names such a thing.
    func requireUntied() throws(Failure) {
        guard definition.isTied else { return }
        let what = definition.whilePid == nil ? "connection" : "process"
        throw Failure(
            .refused,
            "\(title) ends with a \(what); such a job cannot be changed"
        )
    }

    /// "next fire in 5 s, at 09:00:05", or what it is instead.
    func nextFireSentence(in zone: Zone) -> String {
        guard state == .scheduled else { return "it is \(state)" }
        guard let date = nextFire else { return "fires when the machine starts" }
        let dates = LocalDate(now: .now, zone: zone)
        return "next fire \(dates.distance(date)), \(dates.phrase(date))"
    }

    /// The same of what `old` was changed to, with what that begins anew.
    func nextFireSentence(in zone: Zone, after old: Job) -> String {
        let sentence = nextFireSentence(in: zone)
        // As a command in place of an event, say, it has other dates with the same schedule, too.
        guard id == old.id, state.isLive,
            !old.definition.hasDates(of: definition, now: .now, zone: zone)
        else { return sentence }
        return "\(sentence); its dates and 'fires' begin anew"
    }
}

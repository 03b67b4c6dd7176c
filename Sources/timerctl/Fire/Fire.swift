// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl fire`: fires jobs now.
struct Fire: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fire",
        abstract: "Fire jobs now.",
        discussion: """
            A job that repeats keeps its schedule; a one-shot is finished by it. Does not wait for \
            the command, 'timerctl runs' tells what became of it; with --wait it does, and ends as \
            the command did, after its retries: with its exit status, 128 and the signal, 124 at \
            its timeout, 127 if it could not be started, 75 if its end is not known, or whether it was \
            fired. Where the daemon is restarted, or another node takes over, it goes on with the next \
            one. 69 with a message of timerctl's own, and no line on standard output, means that \
            nothing was fired; the command's own 69 is passed on as any status is.

            Examples:
              timerctl fire 2
              timerctl fire --wait 2 && echo it went well
              timerctl fire --tag reports
            """,
        aliases: ["run", "trigger"]
    )

    @OptionGroup var jobs: JobSelectionArguments

    @Flag(help: "Wait until the command has ended, and end as it did; for one job.")
    var wait = false

    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        guard wait else { return }
        if jobs.tag != nil || jobs.owner != nil {
            throw ValidationError("--wait is for one job; --tag and --owner may mean several")
        }
        if references.count != 1 {
            throw ValidationError("--wait is for one job; \(references.count) are named")
        }
    }

    private var references: [JobReference] { jobs.name.map { [.name($0)] } ?? jobs.jobs }

    func run() async throws {
        if wait { return try await fireAndWait(references[0]) }
        let daemon = try await Daemon.connect(common)
        let references = try await references(of: daemon)
        // None is fired where one is not there; a live job has the name, or fire refuses it.
        if references.count > 1 {
            _ = try await daemon.ids(of: references, undone: "nothing is fired")
        }
        try await Daemon.forEach(references, daemon) { job in
            let answer = try await daemon.ask(.fireJob(job), for: FireReply.self)
            let fired = answer.value.job
            try Output.write(
                common.json
                    ? answer.jsonLine : "\(fired.title): fired, fire \(answer.value.fire)\n",
                done: "job \(fired.id) was fired"
            )
        }
    }

    /// The jobs that are meant, also by a tag or an owner.
    ///
    /// - Throws: 1 where a tag or an owner has no live job.
    private func references(of daemon: Daemon) async throws -> [JobReference] {
        if let tag = jobs.tag {
            let own = try await AppliedJobs.own(daemon, tag: tag, all: false)
            guard !own.isEmpty else {
                throw Failure(
                    .refused,
                    "no live job has the tag '\(tag)'; 'timerctl list' shows the jobs"
                )
            }
            return own.map { .id($0.id) }
        }
        guard let owner = jobs.owner else { return references }
        var filter = ListJobs()
        filter.owner = owner
        let all = try await daemon.jobs(filter)
        guard !all.isEmpty else { throw Failure(.refused, "'\(owner)' has no live job") }
        return all.map { .id($0.id) }
    }

    private func fireAndWait(_ job: JobReference) async throws {
        let end = try await FireWait(common: common, job: job).run { Output.tell($0) }
        let fired = end.fire.value.job
        guard let run = end.run else {
            let reason =
                fired.definition.queue.map { "the task is for the workers of queue '\($0)'" }
                ?? "it has no command to wait for"
            return try Output.write(
                common.json ? end.fire.jsonLine : "\(fired.title): fired; \(reason)\n",
                done: "job \(fired.id) was fired"
            )
        }
        var sentence = RunSentence(run.value, dates: LocalDate(now: .now, zone: .local)).text
        if !end.isKept { sentence += "; the run is no longer kept" }
        try Output.write(
            common.json ? run.jsonLine : "\(fired.title): \(sentence)\n",
            done: "job \(fired.id) was fired"
        )
        if run.value.exitStatus != 0 { throw ExitCode(run.value.exitStatus) }
    }
}

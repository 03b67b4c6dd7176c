// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl

/// `timerctl fire`: fires jobs now.
struct Fire: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fire",
        abstract: "Fire jobs now.",
        discussion: """
            A job that repeats keeps its schedule; a one-shot is finished by it. Does not wait for \
            the command, 'timerctl runs' tells what became of it; with --wait it does, and ends as \
            the command did, after its retries: with its exit status, 128 and the signal, 124 at \
            its timeout, 127 if it could not be started, 75 if its end is not known.

            Examples:
              timerctl fire 2
              timerctl fire --wait 2 && echo it went well
            """,
        aliases: ["run", "trigger"]
    )

    @OptionGroup var jobs: JobArguments

    @Flag(help: "Wait until the command has ended, and end as it did; for one job.")
    var wait = false

    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        if wait, jobs.references.count != 1 {
            throw ValidationError("--wait is for one job; \(jobs.references.count) are named")
        }
    }

    func run() async throws {
        if wait { return try await fireAndWait(jobs.references[0]) }
        let daemon = try await Daemon.connect(common)
        // None is fired where one is not there; a live job has the name, or fire refuses it.
        if jobs.references.count > 1 { _ = try await daemon.ids(of: jobs.references) }
        try await Daemon.forEach(jobs.references, daemon) { job in
            let answer = try await daemon.ask(.fireJob(job), for: FireReply.self)
            try Output.write(
                common.json
                    ? answer.jsonLine
                    : "\(answer.value.job.title): fired, fire \(answer.value.fire)\n"
            )
        }
    }

    private func fireAndWait(_ job: JobReference) async throws {
        let daemon = try await Daemon.connect(common)
        let (fired, run) = try await FireWait(daemon: daemon, job: job).run {
            Output.tell($0)
        }
        guard let run else {
            try Output.write(
                common.json
                    ? fired.jsonLine
                    : "\(fired.value.job.title): fired; it has no command to wait for\n"
            )
            return
        }
        let sentence = RunSentence(run.value.run, dates: LocalDate(now: .now, zone: .local)).text
        try Output.write(
            common.json ? run.jsonLine("run") : "\(fired.value.job.title): \(sentence)\n"
        )
        if run.value.run.exitStatus != 0 { throw ExitCode(run.value.run.exitStatus) }
    }
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// `timerctl fire`: fires jobs now.
struct Fire: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fire",
        abstract: "Fire jobs now.",
        discussion: """
            A job that repeats keeps its schedule; a one-shot is finished by it. Does not wait for \
            the command: 'timerctl runs' tells what became of it, and 'timerctl watch' waits.

            Examples:
              timerctl fire 2
              seq=$(timerctl status --json | jq .seq)
              timerctl fire 2
              timerctl watch --since "$seq" --job 2 --type run.finished -n 1
            """,
        aliases: ["run", "trigger"]
    )

    @OptionGroup var jobs: JobArguments

    @OptionGroup var common: CommonOptions

    func run() async throws {
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
}

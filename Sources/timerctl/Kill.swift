// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// `timerctl kill`: ends runs in progress.
struct Kill: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kill",
        abstract: "End runs in progress: SIGTERM to all of their processes, then SIGKILL.",
        discussion: """
            How long they have between the two is the job's --kill-after, 5 s unless it says \
            otherwise; so it is for what a run's own process has left behind. --kill-after here counts \
            in its place, for all of the run. A run that is ended so is not tried again. Answers once the signal is sent. Of a \
            run that has failed, and whose next attempt waits, that attempt is dropped: the job goes on \
            with its next date.

            Examples:
              timerctl kill 12
              timerctl kill --kill-after 0s 12   # at once
              timerctl runs   # has the numbers
            """
    )

    @Argument(help: ArgumentHelp("The runs' numbers.", valueName: "run"))
    var runs: [String]

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "SIGKILL that long after SIGTERM, whatever the job says.",
            valueName: "duration"
        ),
        transform: { try StatedOption(.killAfter, $0) }
    )
    var killAfter: StatedOption?

    @OptionGroup var common: CommonOptions

    mutating func validate() throws { _ = try runs.map(runID) }

    func run() async throws {
        let killAfter: String? = if case .text(let words) = killAfter?.value { words } else { nil }
        try await Daemon.forEach(runs.map(runID), common) { daemon, id in
            let request = Request.killRun(KillRun(id, killAfter: killAfter))
            let answer = try await daemon.ask(request, for: RunReply.self)
            try Output.write(
                common.json
                    ? answer.jsonLine("run") : answer.value.run.killSentence(id) + "\n",
                done: answer.value.run.state == .done
                    ? "run \(id) is not tried again" : "run \(id) is ending"
            )
        }
    }
}

extension Run {
    /// What `run.kill` has begun, by the run that it answered with.
    func killSentence(_ id: RunID) -> String {
        let end = state == .done ? "has ended, and is not tried again" : "ending"
        return "run \(id) of job \(job): \(end)"
    }
}

/// - Throws: `ValidationError` for what is no number from 1.
private func runID(_ argument: String) throws -> RunID {
    guard let number = Int64(argument), number > 0 else {
        throw ValidationError("'\(argument)' is no run, a number from 1; 'timerctl runs' has them")
    }
    return RunID(rawValue: number)
}

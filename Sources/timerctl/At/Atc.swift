// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerWords

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

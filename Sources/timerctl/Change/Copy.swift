// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl

/// `timerctl copy`: another job of the same definition.
struct Copy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Add a job that is as another one, under a name of its own.",
        discussion: """
            Of a job that has ended too. What repeats begins anew, from now on. Prints the id of the \
            new job, which 'timerctl change' makes different.

            Examples:
              timerctl copy backup backup-of-b
            """
    )

    @Argument(
        help: ArgumentHelp("The id or name of a job.", valueName: "job"),
        completion: .jobs,
        transform: { try jobReference($0) }
    )
    var reference: JobReference

    @Argument(
        help: ArgumentHelp("The new job's name.", valueName: "name"),
        transform: { try StatedOption(.name, $0) }
    )
    var newName: StatedOption

    @OptionGroup var forUser: ForUser

    @OptionGroup var common: CommonOptions

    func run() async throws {
        _ = try forUser.user()
        var daemon = try await Daemon.connect(common)
        let job = try await daemon.ask(.getJob(reference), for: JobReply.self).value.job
        var definition = job.definition
        try definition.set(.name, newName.value)
        if forUser.name != nil {
            await daemon.client.close()
            daemon = try await forUser.connect(common)
        }
        let answer = try await daemon.ask(.addJobs(AddJobs(definition)), for: JobReply.self)
        let copy = answer.value.job
        try Output.write(common.json ? answer.jsonLine("job") : "\(copy.id)\n", added: copy)
        Output.tell(copy.firstFireSentence(in: .local))
    }
}

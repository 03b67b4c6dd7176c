// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerWords

/// `timerctl rename`: another name for a job.
struct Rename: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Give a job another name; it keeps its id, its dates and its history.",
        discussion: """
            Examples:
              timerctl rename backup nightly-backup
              timerctl rename 2 heartbeat
            """
    )

    @Argument(
        help: ArgumentHelp("The id or name of a job.", valueName: "job"),
        completion: .jobs,
        transform: { try jobReference($0) }
    )
    var reference: JobReference

    @Argument(
        help: ArgumentHelp("Its name from now on.", valueName: "name"),
        transform: { try StatedOption(.name, $0, as: "the new name") }
    )
    var newName: StatedOption

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        let job = try await daemon.ask(.getJob(reference), for: JobReply.self).value.job
        try job.requireUntied()
        try job.requireTold()
        var definition = job.restated
        try definition.set(.name, newName.value)
        let revision = JobRevision(of: job, definition)
        try await daemon.change(revision, json: common.json) { _ in nil }
    }
}

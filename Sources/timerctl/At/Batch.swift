// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl batch`: a script that runs now, with what other programs leave.
struct Batch: AsyncParsableCommand, JobCommand {
    static let configuration = CommandConfiguration(
        commandName: "batch",
        abstract: "Run a script from stdin now, with the time that other programs leave.",
        discussion: """
            As 'at now', at a niceness of 19 unless --nice, or -q with a letter behind a, says another. \
            batch(1) waits until the load has dropped; this begins at once, and the kernel gives it what \
            nobody else wants.

            Examples:
              echo 'make world' | timerctl batch
            """
    )

    @OptionGroup var queue: AtOptions

    @OptionGroup var general: GeneralOptions
    @OptionGroup var new: NewJobOptions

    @OptionGroup(title: "Runs")
    var runs: RunOptions

    @OptionGroup(title: "Notices")
    var notices: NoticeOptions

    @OptionGroup(title: "Queues")
    var queues: QueueOptions

    @OptionGroup var common: CommonOptions

    @OptionGroup var words: ScriptArguments

    var script: AtScript { AtScript(job: job, words: words) }

    mutating func validate() throws {
        try script.check()
    }

    func run() async throws {
        try await niceScript().add(try ScheduleOptions.parse(["--at", "now"]))
    }

    /// What is run, with its niceness.
    func niceScript() throws -> AtScript {
        var script = script
        try queue.apply(to: &script)
        try script.giveWay(19)
        return script
    }
}

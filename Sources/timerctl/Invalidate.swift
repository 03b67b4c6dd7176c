// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// `timerctl invalidate`: ends jobs for good.
struct Invalidate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invalidate",
        abstract: "End jobs for good.",
        discussion: """
            Once this has answered, no fire of them begins any more; a run in progress goes on, \
            unless --kill ends it. 'timerctl undo' brings them back for a day. A job that has ended \
            already stays as it is. 'timerctl list --all' still shows them.

            Examples:
              timerctl invalidate 2 3
              timerctl invalidate --name heartbeat
              timerctl invalidate "$TIMERD_JOB_ID"   # in a job's own command
            """,
        aliases: ["rm", "remove", "delete", "cancel"]
    )

    @OptionGroup var jobs: JobSelectionArguments

    @Flag(help: "End their runs in progress as well.")
    var kill = false

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await Self.end(jobs, kill: kill, common)
    }

    static func end(
        _ jobs: JobSelectionArguments,
        kill: Bool,
        _ common: CommonOptions
    ) async throws {
        try await Daemon.change(jobs, common) {
            Request.invalidateJobs(InvalidateJobs($0, kill: kill))
        } _: { job in
            "\(job.title): \(job.state.rawValue)"
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl show`: everything about a job.
struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a job: all that is set, its last fires and the reasons, its coming dates.",
        discussion: """
            Examples:
              timerctl show 2
              timerctl show --name heartbeat
              timerctl show 2 --json | jq .schedule
            """
    )

    @OptionGroup var jobs: JobArguments

    @OptionGroup var common: CommonOptions

    func run() async throws {
        var isFirst = true
        try await Daemon.forEach(jobs.references, common) { daemon, reference in
            let answer = try await daemon.ask(.getJob(reference), for: JobReply.self)
            if common.json { return try Output.write(answer.jsonLine("job")) }
            let job = answer.value.job
            let rows = try await daemon.rows(of: job.id)
            var page = JobPage(
                job: job,
                runs: rows.shown,
                dates: LocalDate(now: .now, zone: .local),
                dropped: rows.dropped,
                more: rows.more,
                isCut: rows.isCut
            )
            // try?, of both: the page is there without why something waits.
            page.status = try? await daemon.ask(.status, for: StatusReply.self).value
            if let queue = job.definition.queue, rows.shown.contains(where: \.waitsForWorker) {
                page.queue = try? await daemon.queues(of: job.owner).first { $0.queue == queue }
            }
            try Output.write((isFirst ? "" : "\n") + page.text(for: .current))
            isFirst = false
        }
    }
}

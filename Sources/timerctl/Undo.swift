// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl undo`: has invalidated jobs live again.
struct Undo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Bring back jobs that you have invalidated.",
        discussion: """
            Without a job, all that your last 'invalidate', 'apply' or 'crontab' has ended; once \
            more, what the one before it has. What these have added or changed stays. If one of them \
            cannot come back, none does, and the refusal names it; 'timerctl undo JOB...' brings \
            back the others. A job that 'apply' has replaced, as it could not be read, is left out \
            where others were ended. A job comes back with its id, name and history, paused if it \
            was paused. What 'crontab -u ann' has ended is ann's to bring back, or root's with -u ann. It \
            works for a day. Dates that passed meanwhile follow each job's --misfire \
            policy; a run that was ended, or a retry that was dropped, does not come back.

            Examples:
              timerctl undo
              timerctl undo 2 backup
              sudo timerctl undo -u web
            """
    )

    @Argument(
        help: ArgumentHelp("The ids or names of ended jobs.", valueName: "job"),
        completion: .jobs,
        transform: { try jobReference($0) }
    )
    var jobs: [JobReference] = []

    @Option(name: .short, help: ArgumentHelp("Another user's jobs; for root.", valueName: "user"))
    var user: String?

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let daemon = try await LocalUser.meant(by: user).connect(common)
        let ids = jobs.isEmpty ? nil : try await daemon.ids(of: jobs)
        let answer = try await daemon.ask(
            .restoreJobs(ids.map { .ids($0) }),
            for: JobsReply.self
        )
        try Daemon.write(answer, common) { $0.nextFireSentence(LocalDate(now: .now, zone: .local)) }
    }
}

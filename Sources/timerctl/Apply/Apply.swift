// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Schedules
import TimerControl

/// `timerctl apply`: jobs as files declare them.
struct Apply: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Make jobs what files declare: add, change and remove.",
        discussion: """
            The files are YAML or JSON: a label, and jobs by name, each in the words of 'add'. \
            Jobs that carry the label are compared with them: new ones are added, others changed \
            or removed, and no other job is touched. All of it happens or nothing, up to 100,000 \
            jobs and 32 MiB. A changed job keeps its id and its history, and with the same schedule \
            its next date. Applying twice changes nothing.

            Examples:
              timerctl apply -f jobs.yaml --dry-run
              timerctl apply -f /etc/timerd/jobs.d
              timerctl export --label web > web.yaml
            """
    )

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "A file, a folder of *.yaml, *.yml and *.json, or - ; may be given several times.",
            valueName: "path"
        ),
        completion: .file(extensions: ["yaml", "yml", "json"])
    )
    var file: [String] = []

    @Option(help: "The label of the jobs, where no file says it.")
    var label: String?

    @Flag(help: "Show what would be done, have the daemon try it, and keep nothing.")
    var dryRun = false

    @Flag(help: "Take over live jobs of a declared name that do not carry the label.")
    var adopt = false

    @Flag(help: "Let files without a job remove all that carry the label.")
    var allowEmpty = false

    @Flag(name: .shortAndLong, help: "Remove without asking.")
    var yes = false

    @Flag(help: "With --dry-run: end with status 2 where there is something to do.")
    var exitCode = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard !file.isEmpty else { throw ValidationError("no file; say which with -f") }
        if exitCode, !dryRun { throw ValidationError("--exit-code belongs to --dry-run") }
    }

    func run() async throws {
        let files: JobFiles
        do {
            files = try JobFiles.read(file, label: label)
        } catch let mistakes as Mistakes {
            for mistake in mistakes.all { Output.complain(mistake.description) }
            throw Failure(.badData, "")
        }
        guard allowEmpty || !files.jobs.isEmpty else {
            throw Failure(
                .refused,
                "no job is declared; --allow-empty removes all that '\(files.label)' has"
            )
        }
        let applied = AppliedJobs(daemon: try await Daemon.connect(common), label: files.label)
        let plan = try await Progress.show("reading jobs") { _ in
            try await applied.plan(files, adopts: adopt)
        }
        for stranger in plan.strangers { Output.complain(Self.sentence(on: stranger, plan.label)) }
        guard plan.strangers.isEmpty else { throw Failure(.refused, "") }
        for job in plan.passed {
            Output.tell("note: \(job.place): the date of '\(job.name)' has passed; not added")
        }
        let parts = try ApplyPart.parts(of: plan)
        if dryRun { try await send(parts, applied) }
        if !common.json { try Output.write(PlanText.text(of: plan, for: .current)) }
        if dryRun {
            if exitCode, !plan.isEmpty { throw ExitCode(2) }
            return
        }
        try confirm(plan)
        try await send(parts, applied)
        if !plan.isEmpty { Output.tell(PlanText.summary(of: plan, isDone: true)) }
    }

    private func send(_ parts: [ApplyPart], _ applied: AppliedJobs) async throws {
        let total = parts.reduce(0) { $0 + $1.count }
        let lines = try await Progress.show(
            dryRun ? "trying" : "applying",
            of: total
        ) { progress in
            try await applied.send(parts, dryRun: dryRun, progress)
        }
        if common.json { try Output.write(lines) }
    }

    /// Asks before jobs are removed, if input and errors are on a terminal.
    private func confirm(_ plan: ApplyPlan) throws {
        guard !yes, !plan.removals.isEmpty, isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1
        else { return }
        let count = plan.removals.count
        Output.tell("remove \(count) \(count == 1 ? "job" : "jobs") for good? 'yes' does it:")
        guard readLine() == "yes" else { throw Failure(.refused, "nothing was changed") }
    }

    private static func sentence(
        on stranger: (declared: DeclaredJob, job: Job),
        _ label: String
    ) -> String {
        let owner = stranger.job.label.map { "carries the label '\($0)'" } ?? "carries no label"
        return "\(stranger.declared.place): job \(stranger.job.id) has the name "
            + "'\(stranger.declared.name)' and \(owner); --adopt gives it the label '\(label)'"
    }
}

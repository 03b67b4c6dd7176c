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
            its next date; one that cannot be read is replaced by another, which is told. Applying \
            twice changes nothing.

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

    @Option(help: "The label of the jobs, where no file says it.", completion: .labels)
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
        for path in files.passed {
            Output.complain(
                "note: '\(path)' is passed over; read of a folder are *.yaml, *.yml and *.json"
            )
        }
        guard allowEmpty || !files.jobs.isEmpty else {
            throw Failure(
                .refused,
                "no job is declared; --allow-empty removes all that '\(files.label)' has"
            )
        }
        let applied = AppliedJobs(daemon: try await Daemon.connect(common), label: files.label)
        var plan = try await Progress.show("reading jobs") { _ in
            try await applied.plan(files, adopts: adopt)
        }
        for stranger in plan.strangers { Output.complain(Self.sentence(on: stranger, plan.label)) }
        guard plan.strangers.isEmpty else { throw Failure(.refused, "") }
        for job in plan.passed {
            Output.tell("note: \(job.place): the date of '\(job.name)' has passed; not added")
        }
        for note in (plan.additions + plan.changes.map(\.declared)).flatMap(\.notes) {
            Output.complain("note: \(note.place): \(note.text)")
        }
        var lines = ""
        // The daemon alone knows who has a key.
        if dryRun || plan.additions.contains(where: { $0.definition.key != nil }) {
            lines = try await send(&plan, applied, dryRun: true)
            // A live one is in the way; one that is over has done what the key stands for.
            guard !plan.kept.contains(where: { $0.job.state.isLive }) else {
                throw Failure(.refused, "")
            }
        }
        let text = PlanText.text(of: plan, for: .current)
        if dryRun || !common.json { try Output.write(common.json ? lines : text) }
        if dryRun {
            if exitCode, !plan.isEmpty { throw ExitCode(2) }
            return
        }
        try confirm(plan)
        let known = plan.kept.count
        let isEmpty = plan.isEmpty
        lines = try await send(&plan, applied, dryRun: false)
        let summary = PlanText.summary(of: plan, isDone: true)
        if common.json { try Output.write(lines, done: summary) }
        if !isEmpty { Output.tell(summary) }
        // Meanwhile another job got a key of the plan's.
        if plan.kept.count > known { throw ExitCode(ExitStatus.refused.rawValue) }
    }

    /// Has the plan done or tried, and tells of jobs that are not added; returns each other one as a line of JSON.
    private func send(
        _ plan: inout ApplyPlan,
        _ applied: AppliedJobs,
        dryRun: Bool
    ) async throws -> String {
        let parts = try ApplyPart.parts(of: plan)
        let total = parts.reduce(0) { $0 + $1.count }
        let outcome = try await Progress.show(
            dryRun ? "trying" : "applying",
            of: total
        ) { progress in
            try await applied.send(parts, dryRun: dryRun, progress)
        }
        try await applied.leaveOut(outcome.existing, of: &plan)
        for (declared, job) in plan.kept.prefix(outcome.existing.count) {
            let sentence = Self.sentence(on: declared, keptBy: job)
            if job.state.isLive { Output.complain(sentence) } else { Output.tell(sentence) }
        }
        // A trial ahead of the change leaves it to that.
        if dryRun == self.dryRun {
            for note in outcome.notes { Output.complain("note: \(note)") }
        }
        return outcome.lines
    }

    /// Asks before jobs are removed, if somebody is at a terminal to read the question and to answer.
    private func confirm(_ plan: ApplyPlan) throws {
        guard !yes, !plan.removals.isEmpty, isatty(STDIN_FILENO) == 1 else { return }
        let count = plan.removals.count
        let question = "remove \(count) \(count == 1 ? "job" : "jobs") for good? 'yes' does it:"
        if isatty(STDERR_FILENO) == 1 {
            Output.tell(question)
        } else if isatty(STDOUT_FILENO) == 1 {
            try Output.write(question + "\n")
        } else {
            return
        }
        guard readLine() == "yes" else { throw Failure(.refused, "nothing was changed") }
    }

    private static func sentence(on declared: DeclaredJob, keptBy job: Job) -> String {
        let key = declared.definition.key ?? ""
        return job.state.isLive
            ? "\(declared.place): \(job.title) has the key '\(key)', which stands for one job; "
                + "'\(declared.name)' cannot be added"
            : "note: \(declared.place): \(job.title) had the key '\(key)' and is over; "
                + "'\(declared.name)' is not added"
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

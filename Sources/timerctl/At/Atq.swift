// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl atq`: the jobs that fire once, as at(1) lists its queue.
struct Atq: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "atq",
        abstract: "List the jobs that fire once and are not over, as atq(1) does.",
        discussion: """
            A line each: the id, a tab, the date of the next fire, the letter of its queue (of its tag \
            'queue:c', else 'a'), and the owner. A job whose date has come is here until its command \
            has ended and is not tried again: with its date, and '=' for the letter while it runs. \
            Jobs that are named are listed alone. \
            'timerctl list' shows all jobs that are to fire, with their names.
            """
    )

    @Option(
        name: .customShort("q"),
        help: ArgumentHelp("Only jobs of this queue, a to z or A to Z.", valueName: "letter"),
        transform: { try AtQueueLetter(stated: $0) }
    )
    var queue: AtQueueLetter?

    @Argument(
        help: ArgumentHelp("Only these jobs, by ids or names.", valueName: "job"),
        completion: .jobs,
        transform: { try jobReference($0) }
    )
    var references: [JobReference] = []

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        var request = ListJobs()
        request.order = .nextFire
        let live = try await daemon.jobs(request)
        // Behind the jobs: one whose date comes in between is among both, and not among neither.
        var open = ListRuns()
        open.open = true
        let runs = try await daemon.runs(open, atMost: .max).page.runs
        var entries: [(job: Job, run: Run?)] = []
        let unfinished = Self.unfinished(runs, besides: live)
        let jobs = try await daemon.jobs(unfinished.map(\.job))
        for run in unfinished {
            // One that was over and removed meanwhile is over.
            guard let job = jobs[run.job] else { continue }
            entries.append((job: job, run: run))
        }
        entries += live.map { (job: $0, run: nil) }
        entries = entries.filter { entry in
            entry.job.firesOnce && (queue.map { $0 == .of(entry.job) } ?? true)
        }
        let listed = entries.map(\.job)
        let absent = references.filter { named in !listed.contains { $0.answers(to: named) } }
        if !references.isEmpty {
            entries = entries.filter { entry in references.contains { entry.job.answers(to: $0) } }
        }
        let dates = LocalDate(now: .now, zone: .local)
        try Output.write(
            common.json
                ? entries.map { try JSONValue(encoding: $0.job).jsonLine }.joined()
                : entries.map { Self.line($0.job, $0.run, dates) + "\n" }.joined()
        )
        for reference in absent {
            let job = try await daemon.ask(.getJob(reference), for: JobReply.self).value.job
            let reason = Self.reason(of: job, queue)
            Output.complain("note: \(job.title) is not in the queue: \(reason)")
        }
    }

    /// Why a job is not listed that was asked for.
    static func reason(of job: Job, _ queue: AtQueueLetter?) -> String {
        if !job.firesOnce { return "it does not fire once" }
        let own = AtQueueLetter.of(job)
        return queue.map { $0 == own } ?? true ? "it is over" : "its letter is '\(own.letter)'"
    }

    /// Of fires that are not over those whose job is not `live`, one for each job, by their dates.
    static func unfinished(_ runs: [Run], besides live: [Job]) -> [Run] {
        let live = Set(live.map(\.id))
        var found: [JobID: Run] = [:]
        for run in runs where !live.contains(run.job) {
            // An attempt that runs says more than the one before it.
            if found[run.job]?.state != .running { found[run.job] = run }
        }
        return found.values.sorted { ($0.fireDate, $0.job) < ($1.fireDate, $1.job) }
    }

    /// "5\tThu Dec 24 10:00:00 2026 a user"; `run`: its last fire, of a job that has no more dates.
    static func line(_ job: Job, _ run: Run?, _ dates: LocalDate) -> String {
        let next = run?.fireDate ?? job.nextFire
        let date = job.state == .paused ? "paused" : next.map(dates.asctime) ?? "held"
        // As at(1) has it.
        let letter = run?.state == .running ? "=" : AtQueueLetter.of(job).letter
        return "\(job.id)\t\(date) \(letter) \(Printable.escaped(job.owner))"
    }
}

extension Job {
    /// Whether a number or a name on the command line is that of this job.
    func answers(to reference: JobReference) -> Bool {
        switch reference {
        case .id(let id): self.id == id
        case .name(let name): definition.name.map { ByteText($0) } == ByteText(name)
        }
    }

    /// Whether its schedule has one date.
    var firesOnce: Bool { definition.schedule.at != nil || definition.schedule.in != nil }
}

// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// One run: what became of it, what it wrote, when, and what it used.
struct RunPage {
    private let parts: Parts
    private let run: Run
    /// Nil for one whose job is not kept any more.
    private let job: Job?
    private let times: RunTimes
    private let output: RunOutput
    /// How often it is tried again, by its job or by the daemon's default.
    private let retries: Int

    init(_ id: RunID, _ visit: Visit, _ session: Session) async throws {
        parts = Parts(visit)
        let only = try visit.chosenStream()
        let client = session.client
        run = try await client.run(id)
        do {
            job = try await client.job(.id(run.job))
        } catch let error as ControlError where error.reason == .notFound {
            job = nil
        }
        let runs = try await job.mapAsync {
            try await NewestRuns(of: $0.id, atMost: RunTimes.most, at: visit.dates.now, client)
        }
        times = RunTimes(runs?.come ?? [])
        let defaults = job.map { session.status.defaultWords(of: $0.definition) } ?? []
        retries =
            job?.definition.retries
            ?? defaults.first { $0.option == "retries" }.flatMap { Int($0.words) } ?? 0
        output = try await RunOutput(of: id, only: only, client)
    }

    private var dates: LocalDate { parts.dates }
    private var id: String { run.id.map { "\($0)" } ?? "" }
    private var isRunning: Bool { run.state == .running }
}

extension RunPage: PageContent {
    var page: Page {
        let name = run.name ?? "job \(run.job)"
        return Page(
            "Run \(id) of \(name)",
            in: .runs,
            watching: .run(id, of: run.job),
            atMost: run.pageAge
        ) {
            div {
                div(.class("head")) {
                    h1 {
                        "Run \(id) of "
                        a(.href(Link("jobs", "\(run.job)"))) { parts.jobName(run.name, run.job) }
                    }
                    " "
                    span(.class("state \(word.kind.rawValue)"), .data("live", "state")) {
                        word.word
                    }
                }
                p(.class("lead"), .data("live", "words")) { bdi { sentence } }
            }
            div(.class("beside")) {
                div {
                    output.section(
                        parts,
                        id,
                        isRunning: output.isRunning,
                        isInterrupted: run.outcome == .interrupted
                    )
                }
                aside(.aria("label", "About this run")) {
                    section(.data("live", "facts")) {
                        h2 { "Times" }
                        dl(.class("facts")) { timesFacts }
                        if !used.isEmpty {
                            h2 { "Used" }
                            dl(.class("facts")) { used }
                        }
                    }
                    actions
                }
            }
        }
    }

    private var word: StateWord { RunWords(run, dates).state }

    private var sentence: String {
        var words = RunWords(run, dates).sentence.asSentence
        if isRunning, times.count > 0 {
            words += " Runs of its job take \(times.average.roughly) on average."
        }
        return words
    }

    private func fact(_ label: String, _ content: Node) -> [Node] {
        [dt { label }, dd { content }]
    }

    private var timesFacts: [Node] {
        var all = fact("Date", parts.when(run.fireDate))
        if let began = run.startedAt { all += fact("Began", parts.when(began)) }
        if let ended = run.endedAt { all += fact("Ended", parts.when(ended)) }
        if let took = run.duration(dates.now) { all += fact("Took", .text(took.length)) }
        if let late = RunWords(run, dates).lateness { all += fact("Late by", .text(late.length)) }
        if let attempt = run.attempt {
            all += fact(
                "Attempt",
                .text(retries > 0 ? "\(attempt) of \(retries + 1)" : "\(attempt)")
            )
        }
        if let next = run.nextAttemptAt { all += fact("Next attempt", parts.when(next)) }
        if let node = run.node { all += fact("Host", .text(node)) }
        all += fact("Fire", .text("\(run.fire)"))
        return all
    }

    private var used: [Node] {
        var all: [Node] = []
        if let user = run.userTime, let system = run.systemTime {
            let sum = TimeSpan(microseconds: Int64((user + system) * 1_000_000))
            let kernel = TimeSpan(microseconds: Int64(system * 1_000_000))
            all += fact("Processor", .text("\(sum.length), \(kernel.length) of it in the kernel"))
        }
        if let memory = run.peakMemory {
            all += fact("Memory", .text("\(ByteCount.words(memory)) at most"))
        }
        return all
    }

    private var actions: Node {
        section(.data("live", "actions")) {
            h2 { "Do" }
            ul(.class("actions")) {
                if isRunning {
                    li {
                        parts.ask(Link("runs", id, "kill"), "Kill", "button danger")
                        p {
                            "SIGTERM, then SIGKILL \(job?.definition.killAfter ?? "5s") later. It is not tried again. Cannot be undone."
                        }
                    }
                }
                if run.isTriedAgain {
                    li {
                        let words = "Drop the next attempt"
                        parts.ask(Link("runs", id, "kill"), words, "button danger")
                        p {
                            "It is not tried again. Its job goes on with its next date. Cannot be undone."
                        }
                    }
                }
                if let job, job.state.isLive, job.held == nil {
                    li {
                        form(.method(.post), .action(Link("runs", id, "retry"))) {
                            parts.visit.formKey
                            button { "Run again" }
                        }
                        p {
                            "Fires "
                            parts.jobName(job)
                            " once, now. Cannot be undone."
                        }
                    }
                }
                li {
                    a(.class("button"), .href(Link("runs").with("job", "\(run.job)"))) {
                        "Its others"
                    }
                    p { "All runs of this job." }
                }
            }
        }
    }
}

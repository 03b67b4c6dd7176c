// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// What became of a job's dates: as a picture of how long its runs took, and as a table.
struct JobHistory {
    static let bars = 60
    private static let rows = 25

    let times: RunTimes
    private let job: Job
    /// Newest first.
    private let runs: [Run]
    private let inTheWay: RunsInTheWay
    private let parts: Parts
    private let status: StatusReply

    init(job: Job, runs: [Run], parts: Parts, status: StatusReply) {
        (self.job, self.parts, self.status) = (job, parts, status)
        // What is claimed ahead of its date is none yet.
        self.runs = runs.filter { $0.state != .claimed || $0.fireDate <= parts.dates.now }
        times = RunTimes(runs)
        inTheWay = RunsInTheWay(runs)
    }

    var section: Node {
        HTML.section(.aria("labelledby", "h-hist"), .data("live", "history")) {
            div(.class("head")) {
                h2(.id("h-hist")) { "History" }
                " "
                span(.class("count")) { summary }
            }
            if runs.isEmpty {
                p(.class("empty")) {
                    job.goneSentence.map { "Of its fires \($0)." } ?? "Nothing of it has fired yet."
                }
            } else {
                picture
                table
                div(.class("pages")) {
                    a(.href(Link("runs").with("job", "\(job.id)"))) { "All its runs" }
                }
            }
        }
    }

    private var summary: String {
        guard !runs.isEmpty else { return "" }
        let last = dateCount == 1 ? "its one date" : "the last \(dateCount.grouped) dates"
        guard times.count > 0 else { return last }
        return
            "\(last); a run takes \(times.average.length) on average, \(times.longest.length) at most"
    }

    /// How many dates these are of: each attempt is a row, and what was missed in a row is one.
    private var dateCount: Int {
        Dictionary(grouping: runs, by: \.fire).values.reduce(0) { $0 + ($1[0].dates ?? 1) }
    }

    // MARK: - The picture

    private var picture: Node {
        figure(.class("strip tall")) {
            svg(
                .named("viewBox", "0 0 480 42"),
                .named("preserveAspectRatio", "none"),
                .role("img"),
                .aria("label", sentence)
            ) {
                pageTitle { "Durations" }
                line("grid", 2)
                line("grid", 22)
                for (index, run) in runs.reversed().enumerated() { bar(run, index) }
                line("base", 42)
            }
            div(.class("axis"), .aria("hidden", "true")) {
                span { runs.last.map { parts.dates.shortDay($0.fireDate) } ?? "" }
                span { times.count > 0 ? "highest: \(times.longest.length)" : "" }
                span { runs.first.map { parts.dates.shortDay($0.fireDate) } ?? "" }
            }
            figcaption(.class("legend")) {
                for (kind, word) in [
                    (StateWord.Kind.ok, "succeeded"), (.failed, "failed"), (.missed, "missed"),
                    (.skipped, "skipped"),
                ] {
                    parts.state(StateWord(word, kind))
                    " "
                }
            }
        }
    }

    /// Those that are newest stand at the right end.
    private func bar(_ run: Run, _ index: Int) -> Node {
        let word = RunWords(run, parts.dates)
        let place = Self.bars - runs.count + index
        let height = height(run)
        return rect(
            .class("b-\(Self.colour(word.state.kind))"),
            .named("x", place * 8 + 1),
            .named("y", 42 - height),
            .named("width", 6),
            .named("height", height)
        ) {
            pageTitle { "\(parts.dates.short(run.fireDate)): \(word.sentence)" }
        }
    }

    private func height(_ run: Run) -> Int {
        guard let span = run.duration(parts.dates.now), times.longest > .zero else { return 3 }
        let share = Double(span.microseconds) / Double(times.longest.microseconds)
        return min(40, max(3, Int(share * 40)))
    }

    private static func colour(_ kind: StateWord.Kind) -> String {
        switch kind {
        case .failed, .dead: "failed"
        case .missed, .warning, .late: "missed"
        case .skipped: "skipped"
        case .running, .waiting, .queued, .delayed: "open"
        default: "ok"
        }
    }

    private func line(_ name: String, _ y: Int) -> Node {
        HTML.line(
            .class(name),
            .named("x1", 0),
            .named("y1", y),
            .named("x2", 480),
            .named("y2", y)
        )
    }

    private var sentence: String {
        let kinds = runs.map { RunWords($0, parts.dates).state.kind }
        func count(_ kind: StateWord.Kind) -> Int { kinds.count { $0 == kind } }
        var words = ["\(count(.ok) + count(.event)) succeeded", "\(count(.failed)) failed"]
        if count(.missed) > 0 { words.append("\(count(.missed)) were missed") }
        if count(.skipped) > 0 { words.append("\(count(.skipped)) were skipped") }
        let took =
            times.count > 0
            ? ": \(times.average.length) on average, \(times.longest.length) at most" : ""
        return
            "How long the runs of the last \(dateCount.of("date")) took\(took); \(words.joined(separator: ", "))."
    }

    // MARK: - The table

    private var table: Node {
        HTML.table(.class("list")) {
            caption(.class("hush")) { "What became of its dates" }
            thead {
                tr {
                    th(.named("scope", "col")) { "Date" }
                    th(.named("scope", "col")) { "What" }
                    th(.named("scope", "col"), .class("num")) { "Took" }
                    th(.named("scope", "col")) { "Why" }
                }
            }
            tbody { runs.prefix(Self.rows).map(row) }
        }
    }

    private func row(_ run: Run) -> Node {
        tr {
            td(.class("date")) { parts.when(run.fireDate) }
            td(.class("what")) { parts.state(run) }
            td(.class("num"), .data("word", "took")) {
                run.duration(parts.dates.now)?.length ?? ""
            }
            td(.class("why")) {
                parts.why(run, besides: inTheWay[run])
                if job.hasDroppedAttempts(after: run, among: runs, status) {
                    p(.class("soft")) {
                        job.state == .invalidated && run.id == runs.first?.id
                            ? "Not tried again, as its job was ended." : "Not tried again."
                    }
                }
            }
        }
    }
}

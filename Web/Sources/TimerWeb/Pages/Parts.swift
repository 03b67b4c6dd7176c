// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// What many pages show in one way: dates, states, names, buttons.
struct Parts {
    let visit: Visit

    var dates: LocalDate { visit.dates }

    init(_ visit: Visit) { self.visit = visit }

    /// A date: how far, and when, with its zone.
    func when(_ date: Timestamp) -> Node {
        span(.class("when")) {
            far(date)
            " "
            timeElement(.datetime(date.rfc3339)) { dates.short(date) }
        }
    }

    /// How far a date is; the scripts keep it true.
    func far(_ date: Timestamp, _ classes: String = "far") -> Node {
        span(.class(classes), .data("far", date.rfc3339)) { dates.distance(date) }
    }

    /// A name of a user's choice: whatever its direction, it stays in its place.
    func name(_ text: String) -> Node { bdi { text } }

    func jobName(_ job: Job) -> Node { jobName(job.definition.name, job.id) }

    func jobName(_ name: String?, _ id: JobID) -> Node {
        if let name { bdi { name } } else { "job \(id)" }
    }

    /// The beginning of a sentence: "Job backup", or by its number.
    func jobSentence(_ name: String?, _ id: JobID) -> Node {
        group {
            "Job "
            if let name { bdi { name } } else { "\(id)" }
        }
    }

    func state(_ word: StateWord, _ link: Link? = nil) -> Node {
        let classes = "state \(word.kind.rawValue)"
        guard let link else { return span(.class(classes)) { word.word } }
        return a(.class(classes), .href(link)) { word.word }
    }

    /// What a run is, with a link to it.
    func state(_ run: Run) -> Node {
        state(RunWords(run, dates).state, run.id.map { Link("runs", "\($0)") })
    }

    func tags(_ definition: JobDefinition) -> [Node] {
        (definition.tags ?? []).flatMap { tag in
            [" ", a(.class("tag"), .href(Link("jobs").with("tag", tag))) { bdi { tag } }]
        }
    }

    /// A form of one button that does something at once.
    ///
    /// `job`: the one whose next date it is of, as it is shown; nil for what concerns none.
    func act(_ action: Link, _ word: String, _ label: String? = nil, of job: Job? = nil) -> Node {
        form(.class("act"), .method(.post), .action(action)) {
            visit.formKey
            if let job { seen(job) }
            button(.class("small"), label.map { .aria("label", $0) }) { word }
        }
    }

    /// A link to a page that asks once more; the scripts show it as a dialog.
    func ask(_ action: Link, _ word: String, _ classes: String, _ label: String? = nil) -> Node {
        a(.class(classes), .href(action), .data("dialog"), label.map { .aria("label", $0) }) {
            word
        }
    }

    /// A part of a page with a heading.
    func part(
        _ id: String,
        _ title: String,
        count: String = "",
        more: Node = .empty,
        @Markup content: () -> Node
    ) -> Node {
        section(.id(id), .aria("labelledby", "h-\(id)"), .data("live", id)) {
            div(.class("head under")) {
                h2(.id("h-\(id)")) { title }
                " "
                span(.class("count")) { count }
                " "
                more
            }
            content()
        }
    }

    /// A line of a list: a job, a state, a date, and what may be done.
    func row(
        _ name: String?,
        _ job: JobID,
        _ state: Node,
        _ date: Timestamp,
        _ action: Node = .empty
    ) -> Node {
        li {
            a(.class("name"), .href(Link("jobs", "\(job)"))) { jobName(name, job) }
            " "
            state
            " "
            when(date)
            " "
            action
        }
    }

    /// A list of choices, with the chosen one behind them where it is none of them.
    func choice(
        _ name: String,
        _ all: [(value: String, word: String)],
        chosen: String?,
        _ attributes: Attribute?...
    ) -> Node {
        let chosen = chosen ?? ""
        let isKnown = all.contains { $0.value == chosen }
        let options = isKnown ? all : all + [(chosen, chosen)]
        return element(
            .select,
            [.name(name)] + attributes,
            group {
                for option in options {
                    HTML.option(
                        .value(option.value),
                        .flag("selected", option.value == chosen)
                    ) { option.word }
                }
            }
        )
    }
}

extension Int {
    /// "50", or "50 and more".
    func text(hasMore: Bool) -> String { hasMore ? "\(self) and more" : "\(self)" }

    /// "1,204".
    var grouped: String {
        let digits = String(magnitude)
        var result = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.utf8.count - index).isMultiple(of: 3) { result += "," }
            result.append(digit)
        }
        return self < 0 ? "-\(result)" : result
    }

    /// "1 job", "2 jobs".
    func of(_ one: String, _ many: String? = nil) -> String {
        self == 1 ? "1 \(one)" : "\(grouped) \(many ?? one + "s")"
    }
}

extension Parts {
    /// The reason of what became of a date, which may be in others' words.
    ///
    /// `besides`: the run in progress that kept a skipped date from firing.
    func why(_ run: Run, besides: RunID?) -> Node {
        var words = RunWords(run, dates)
        words.besides = besides
        let why = words.why
        return why.isEmpty ? .empty : bdi { why }
    }
}

// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// The fields of the form: each with its label, what it takes, and what is wrong with it.
struct JobFormFields {
    let draft: JobDraft
    let errors: FormErrors
    let parts: Parts

    var all: Node {
        group {
            fieldset {
                legend { "When" }
                kinds
                line(.schedule, "Schedule", hint: scheduleHint)
                zone
            }
            fieldset {
                legend { "What" }
                line(.name, "Name", hint: "one of your own; may be empty")
                line(.tags, "Tags", hint: "with commas between")
                lines(
                    .command,
                    "Command",
                    2,
                    hint:
                        "a program and its arguments, with quotes as in a shell; empty: an event alone"
                )
                shell
            }
            more("If it fails, takes long or is missed", failing, trouble)
            more("Folder, environment, limits", "", limits)
            more("A queue, in place of a command", "", queue)
        }
    }

    private var kinds: Node {
        div(
            .class("choices whole"),
            .id("f-kind"),
            .role("radiogroup"),
            .aria("label", "Kind of schedule")
        ) {
            for kind in JobDraft.Kind.allCases {
                label(.class("tick")) {
                    input(
                        .type("radio"),
                        .name("kind"),
                        .value(kind.rawValue),
                        .flag("checked", kind == draft.kind)
                    )
                    " \(kind.words)"
                }
                " "
            }
            errors[.kind].map { error in span(.class("error"), .id("e-kind")) { error } }
        }
    }

    private var scheduleHint: Node {
        group {
            "such as "
            code { "5min" }
            ", "
            code { "30 2 * * *" }
            ", "
            code { "Mon *-*-* 09:00" }
            ", "
            code { "tomorrow 09:00" }
        }
    }

    private var zone: Node {
        let own = parts.dates.zone
        let known = Set([own.nameForOthers ?? "UTC", "UTC", draft[.tz]]).filter {
            !$0.isEmpty
        }
        return field(.tz, "Zone", hint: "of the clock; not for lengths of time") { attributes in
            group {
                element(
                    .input,
                    attributes + [
                        .value(draft[.tz]), .named("list", "zones"), .named("autocomplete", "off"),
                    ]
                )
                datalist(.id("zones")) {
                    for name in known.sorted() { option(.value(name)) }
                }
            }
        }
    }

    private var shell: Node {
        label(.class("tick whole")) {
            input(
                .type("checkbox"),
                .name("shell"),
                .value("1"),
                .flag("checked", !draft[.shell].isEmpty)
            )
            " run it by "
            code { "/bin/sh -c" }
            ", with its pipes and variables"
        }
    }

    /// What is set of what is folded away.
    private var failing: String {
        [
            draft[.retries].isEmpty ? nil : "\(draft[.retries]) retries",
            draft[.timeout].isEmpty ? nil : "ends after \(draft[.timeout])",
        ].compactMap(\.self).joined(separator: ", ")
    }

    private var trouble: Node {
        group {
            number(.retries, "Retries", 0...1000)
            line(.backoff, "Wait before a retry", hint: "such as 1s..1h")
            line(.timeout, "Ends after", hint: "empty: never")
            select(
                .overlap,
                "If a run is in progress",
                [
                    ("skip", "skip the date"), ("queue", "wait"), ("allow", "run beside it"),
                    ("replace", "end it"),
                ]
            )
            select(
                .misfire,
                "If dates were missed",
                [("once", "one fire for all"), ("skip", "none"), ("all", "one for each")]
            )
            lines(
                .notify,
                "Tell",
                2,
                hint: "where notices go, such as mail:ops@example.org, a line each"
            )
        }
    }

    private var limits: Node {
        group {
            line(.cwd, "Folder", hint: "empty: your home")
            lines(.env, "Environment", 3, hint: "NAME=value, a line each")
            line(.memoryMax, "Memory at most", hint: "such as 512M")
            line(.cpuQuota, "Processor at most", hint: "such as 50%")
        }
    }

    private var queue: Node {
        group {
            line(.queue, "Queue", hint: "each fire is a task in it, for a worker")
            number(.priority, "Priority", -1000...1000)
        }
    }

    // MARK: - Fields

    /// Some fields that are folded away, unless something is set or wrong there.
    private func more(_ title: String, _ summary: String, _ content: Node) -> Node {
        let folded: [JobDraft.Field] =
            switch title.first {
            case "I": [.retries, .backoff, .timeout, .overlap, .misfire, .notify]
            case "F": [.cwd, .env, .memoryMax, .cpuQuota]
            default: [.queue, .priority]
            }
        let isWrong = folded.contains { errors[$0] != nil }
        return details(.flag("open", isWrong)) {
            HTML.summary {
                title
                if !summary.isEmpty {
                    " "
                    span(.class("soft")) { summary }
                }
            }
            fieldset {
                legend(.class("hush")) { title }
                content
            }
        }
    }

    /// One field; `control` makes the element with the attributes that tie it to its label and its words.
    private func field(
        _ field: JobDraft.Field,
        _ title: String,
        hint: Node = .empty,
        classes: String = "field",
        _ control: ([Attribute?]) -> Node
    ) -> Node {
        let name = field.rawValue
        let error = errors[field]
        let words = [error.map { _ in "e-\(name)" }, hint == .empty ? nil : "d-\(name)"]
            .compactMap(\.self).joined(separator: " ")
        return div(.class(classes)) {
            label(.for("f-\(name)")) { title }
            control([
                .id("f-\(name)"), .name(name), words.isEmpty ? nil : .aria("describedby", words),
                error == nil ? nil : .aria("invalid", "true"),
            ])
            error.map { error in span(.class("error"), .id("e-\(name)")) { error } }
            if hint != .empty { span(.class("hint"), .id("d-\(name)")) { hint } }
        }
    }

    private func line(_ name: JobDraft.Field, _ title: String, hint: Node = .empty) -> Node {
        field(name, title, hint: hint) { attributes in
            element(
                .input,
                attributes + [
                    .value(draft[name]), .named("autocomplete", "off"),
                    .named("spellcheck", "false"),
                ]
            )
        }
    }

    private func number(_ name: JobDraft.Field, _ title: String, _ range: ClosedRange<Int>) -> Node
    {
        field(name, title) { attributes in
            element(
                .input,
                attributes + [
                    .type("number"), .named("min", range.lowerBound),
                    .named("max", range.upperBound),
                    .value(draft[name]),
                ]
            )
        }
    }

    private func lines(_ name: JobDraft.Field, _ title: String, _ rows: Int, hint: Node) -> Node {
        field(name, title, hint: hint, classes: "field whole") { attributes in
            element(
                .textarea,
                attributes + [.named("rows", rows), .named("spellcheck", "false")],
                .text(draft[name])
            )
        }
    }

    private func select(
        _ name: JobDraft.Field,
        _ title: String,
        _ options: [(value: String, word: String)]
    ) -> Node {
        field(name, title) { attributes in
            element(
                .select,
                attributes,
                group {
                    for choice in options {
                        option(
                            .value(choice.value),
                            .flag("selected", choice.value == draft[name])
                        ) { choice.word }
                    }
                }
            )
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import HTML
import HTTPTypes
import Schedules
import TimerControl

/// The page on which a job is added or changed, with what it will do beside.
struct JobForm: PageContent {
    let parts: Parts
    /// The job that is changed; nil for a new one.
    let job: Job?
    let draft: JobDraft
    let definition: JobDefinition
    /// The options of the job that have no effect any more, which a change leaves out.
    var leftOut: [String] = []
    var errors: FormErrors
    let preview: SchedulePreview
    /// Whether it was to be saved, and was not.
    var isRefused: Bool

    var page: Page {
        let title = job.map { "Change \($0.title)" } ?? "Add a job"
        return Page(
            title,
            in: .jobs,
            watching: .none,
            status: isRefused ? .unprocessableContent : .ok
        ) {
            h1 {
                if let job {
                    "Change "
                    parts.jobName(job)
                } else {
                    title
                }
            }
            if isRefused { summary }
            if let job, job.owner != parts.visit.site.user {
                others(job)
            } else {
                filled
            }
        }
    }

    /// Said before somebody fills in a form that would be refused.
    private func others(_ job: Job) -> Node {
        group {
            p(.class("conflict")) {
                "It is a job of "
                bdi { job.owner }
                "'s, who alone may change it."
            }
            p {
                a(.class("button"), .href(Link("jobs", "\(job.id)"))) { "Back to the job" }
            }
        }
    }

    private var filled: Node {
        form(.method(.post), .action(action), .class("beside"), .data("preview")) {
            parts.visit.formKey
            if let job {
                input(.type("hidden"), .name("revision"), .value("\(revision(job))"))
            }
            div(.class("form")) {
                JobFormFields(draft: draft, errors: errors, parts: parts).all
                buttons
            }
            aside(.aria("label", "Preview")) {
                div(.class("preview"), .id("preview"), .aria("live", "polite")) { previewed }
            }
        }
    }

    private var action: Link { job.map { Link("jobs", "\($0.id)", "change") } ?? Link("add") }

    /// The one that the form was made of, so that nobody's change in between is undone.
    private func revision(_ job: Job) -> Int64 {
        parts.visit.field("revision").flatMap { Int64($0) } ?? job.revision
    }

    private var buttons: Node {
        p(.class("row")) {
            button(.class("first"), .name("do"), .value("save")) {
                job == nil ? "Add it" : "Change it"
            }
            " "
            button(.name("do"), .value("preview")) { "Preview" }
            " "
            a(
                .class("button"),
                .href(job.map { Link("jobs", "\($0.id)") } ?? Link("jobs"))
            ) { "Cancel" }
        }
    }

    private var summary: Node {
        div(.class("errors"), .role("alert"), .named("tabindex", -1), .id("errors")) {
            h2 {
                "Not \(job == nil ? "added" : "changed"): "
                errors.all.count == 1
                    ? "one thing is wrong" : "\(errors.all.count) things are wrong"
            }
            ul {
                for (field, message) in errors.all {
                    li {
                        if let field {
                            a(.href(Link(path: action.path, fragment: "f-\(field.rawValue)"))) {
                                message
                            }
                        } else {
                            message
                        }
                    }
                }
            }
        }
    }

    // MARK: - The preview

    private var previewed: Node {
        group {
            if let error = preview.error ?? errors[.schedule] ?? errors[.tz] {
                h2 { "No dates yet" }
                p {
                    draft[.schedule].trimmed.isEmpty
                        ? "They are shown here once there is a schedule." : error.asSentence
                }
            } else {
                h2 { "\(verb) \(preview.sentence)" }
                if preview.coming.isEmpty {
                    p { "No date can be foretold." }
                } else {
                    ol(.class("dates")) {
                        for date in preview.coming { li { parts.when(date) } }
                    }
                }
                for note in preview.notes { p(.class("note")) { note.asSentence } }
                leftOutWords.map { words in p(.class("note")) { words.asSentence } }
                job.flatMap { Revert.obstacle(from: $0.definition, to: definition) }
                    .map { words in p(.class("note")) { words.asSentence } }
                preview.conflict.map { words in p(.class("conflict")) { words } }
                if job == nil { commandLine }
            }
        }
    }

    /// As timerctl says it; nil where nothing is.
    var leftOutWords: String? {
        leftOut.isEmpty
            ? nil
            : "left out, as it has no effect any more: \(leftOut.joined(separator: ", "))"
    }

    private var verb: String {
        if definition.command != nil { return "Runs" }
        return definition.queue == nil ? "Fires" : "Hands out a task"
    }

    private var commandLine: Node {
        div {
            h3 { "The same in a shell" }
            p(.class("copy")) {
                code { CommandLine.adding(definition) }
                " "
                button(.class("small"), .type("button"), .data("copy"), .flag("hidden")) { "Copy" }
            }
        }
    }
}

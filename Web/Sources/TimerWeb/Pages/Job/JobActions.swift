// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// What can be done with a job as it stands, and what each does.
struct JobActions {
    let job: Job
    /// Whether something of a fire of it is still to come.
    let isOpen: Bool
    let parts: Parts

    var section: Node {
        HTML.section(.data("live", "actions")) {
            h2 { "Do" }
            ul(.class("actions")) { items }
        }
    }

    private var items: [Node] {
        guard job.state.isLive else {
            // What has finished by itself has no date left to live for.
            guard job.state == .invalidated else { return isOpen ? [end] : [] }
            return job.endReason == "invalidated"
                ? [now(.undo, "Have it live again", "As it was before its end, with its history.")]
                : []
        }
        var all: [Node] = []
        if job.held == nil {
            all.append(now(.fire, "Fire now", fireSentence))
        }
        if job.state == .paused { all.append(now(.resume, "Resume", job.resumeSentence)) }
        if BulkAction.pause.changes(job) { all.append(now(.pause, "Pause", job.pauseSentence)) }
        if job.held == nil, job.fireDate != nil {
            // The dates of a pause are dropped, or made up for, when it goes on.
            if job.state == .scheduled {
                all.append(
                    with(
                        .skip,
                        "Skip",
                        "the next ",
                        skipped,
                        " dates",
                        "Cannot be undone."
                    )
                )
            }
            all.append(
                with(.move, "Move", "the next fire to ", moved, "", "Can be undone.")
            )
        }
        if job.reasonNotToChange == nil {
            all.append(
                item(
                    a(.class("button"), .href(link("change"))) { "Change" },
                    "Keeps its number and history. Can be undone."
                )
            )
        }
        all.append(end)
        return all
    }

    private var end: Node {
        item(
            parts.ask(link("end"), "End", "button danger"),
            job.state.isLive
                ? "Fires no more. Can be undone for 24 hours."
                : "What is to come of its last fire does not begin. Cannot be undone."
        )
    }

    private var fireSentence: String {
        job.endsWithFire
            ? "Once, now; that finishes it. Cannot be undone."
            : "Once, now. Its schedule stays. Cannot be undone."
    }

    private var skipped: Node {
        group {
            parts.seen(job)
            input(
                .type("number"),
                .name("count"),
                .value("1"),
                .named("min", 1),
                .named("max", Limits.skip),
                .aria("label", "How many dates")
            )
        }
    }

    private var moved: Node {
        group {
            parts.seen(job)
            input(
                .name("to"),
                .placeholder("tomorrow 09:00"),
                .flag("required"),
                .aria("label", "Move the next fire to")
            )
        }
    }

    private func link(_ verb: String) -> Link { Link("jobs", "\(job.id)", verb) }

    private func item(_ control: Node, _ sentence: String) -> Node {
        li {
            control
            p { sentence }
        }
    }

    private func now(_ action: JobAction, _ word: String, _ sentence: String) -> Node {
        item(
            form(.method(.post), .action(link(action.rawValue))) {
                parts.visit.formKey
                button { word }
            },
            sentence
        )
    }

    private func with(
        _ action: JobAction,
        _ word: String,
        _ before: String,
        _ control: Node,
        _ behind: String,
        _ sentence: String
    ) -> Node {
        li {
            form(.method(.post), .action(link(action.rawValue))) {
                parts.visit.formKey
                button { word }
                span(.class("with")) {
                    before
                    control
                    behind
                }
            }
            p { sentence }
        }
    }
}

extension Parts {
    /// The next date that a form was made with: moved, dropped or fired in between, it stays so, and so does what follows.
    func seen(_ job: Job) -> Node {
        job.fireDate.map { input(.type("hidden"), .name("from"), .value($0.rfc3339)) } ?? .empty
    }
}

extension Job {
    /// What a pause does to it.
    ///
    /// In maintenance its undo would end that for the job, too.
    var pauseSentence: String {
        maintenance
            ? "It stays paused when the maintenance ends. Cannot be undone."
            : "No date fires until it is resumed."
    }

    /// What its resumption does.
    ///
    /// In maintenance its undo would pause it beyond that.
    var resumeSentence: String {
        maintenance
            ? "Its dates fire again while the maintenance goes on. Cannot be undone."
            : "Its dates fire again; what was missed is made up for as it says."
    }

    /// Whether a fire by hand is its last one: it has one date, or its count is full with it.
    var endsWithFire: Bool {
        let schedule = definition.schedule
        return schedule.at != nil || schedule.in != nil
            || definition.count.map { fires + 1 >= $0 } == true
    }
}

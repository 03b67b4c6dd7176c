// SPDX-License-Identifier: Apache-2.0

import HTML
import TimerControl

/// What can be done with a queue, and what each does.
struct QueueActions {
    let queue: TaskQueue
    let parts: Parts

    var sections: Node {
        group {
            section(.data("live", "actions")) {
                h2 { "Do" }
                ul(.class("actions")) { items }
            }
            limits
        }
    }

    private func link(_ action: QueueAction) -> Link {
        let isOwn = queue.owner == parts.visit.site.user
        return Link("queues", queue.queue, action.rawValue)
            .with("owner", isOwn ? nil : queue.owner)
    }

    private var items: [Node] {
        var all = [
            queue.paused
                ? now(.resume, "Resume", "Hands out its tasks again.")
                : now(
                    .pause,
                    "Pause",
                    "Hands out no task until it is resumed. What is reserved goes on."
                )
        ]
        if queue.delayed > 0 {
            all.append(
                now(
                    .kick,
                    "Kick",
                    "Its \(queue.delayed.of("delayed task")) \(Self.are(queue.delayed)) ready at once. Cannot be undone."
                )
            )
        }
        if queue.dead > 0 {
            all.append(
                now(
                    .retry,
                    "Retry dead",
                    "Its \(queue.dead.of("dead task")) \(Self.are(queue.dead)) ready again, with all their retries. Cannot be undone."
                )
            )
            all.append(
                li {
                    parts.ask(link(.drop).with("state", "dead"), "Drop dead", "button danger")
                    p {
                        "Nobody does its \(queue.dead.of("dead task")) any more. Cannot be undone."
                    }
                }
            )
        }
        return all
    }

    private static func are(_ count: Int) -> String { count == 1 ? "is" : "are" }

    private func now(_ action: QueueAction, _ word: String, _ sentence: String) -> Node {
        li {
            form(.method(.post), .action(link(action))) {
                parts.visit.formKey
                button { word }
            }
            p { sentence }
        }
    }

    private var limits: Node {
        section {
            h2 { "Limits" }
            form(.method(.post), .action(link(.limit)), .class("form")) {
                parts.visit.formKey
                // What the form was made with, so that nobody's change in between is undone.
                input(
                    .type("hidden"),
                    .name("shownReserved"),
                    .value("\(queue.maxReserved ?? 0)")
                )
                input(.type("hidden"), .name("shownRate"), .value(queue.maxRate ?? "none"))
                div(.class("field")) {
                    label(.for("f-maxReserved")) { "Tasks in progress at most" }
                    input(
                        .id("f-maxReserved"),
                        .name("maxReserved"),
                        .type("number"),
                        .named("min", 0),
                        .value("\(queue.maxReserved ?? 0)"),
                        .aria("describedby", "d-maxReserved")
                    )
                    span(.class("hint"), .id("d-maxReserved")) { "0: no limit" }
                }
                div(.class("field")) {
                    label(.for("f-maxRate")) { "Handed out at most" }
                    input(
                        .id("f-maxRate"),
                        .name("maxRate"),
                        .value(queue.maxRate ?? "none"),
                        .aria("describedby", "d-maxRate")
                    )
                    span(.class("hint"), .id("d-maxRate")) { "such as 10/s, 100/min; none" }
                }
                div { button { "Set limits" } }
            }
        }
    }
}

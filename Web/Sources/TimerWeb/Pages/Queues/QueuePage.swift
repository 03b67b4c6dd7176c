// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl

/// One queue: its tasks, and what can be done with them.
struct QueuePage {
    private let parts: Parts
    private let queue: TaskQueue
    private let tasks: [QueuedTask]
    private let next: FireID?
    private let state: QueuedTask.State?
    /// What the address says that means nothing.
    private let mistakes: [String]

    init(_ name: String, _ visit: Visit, _ session: Session) async throws {
        parts = Parts(visit)
        let owner = visit.query("owner")
        let all = try await session.client.listQueues(owner: owner).filter { $0.queue == name }
        guard let queue = all.first(where: { $0.owner == owner ?? visit.site.user }) ?? all.first
        else { throw NotFound(description: "there is no queue '\(name)'") }
        self.queue = queue
        var address = AddressReader(visit.link.query, once: ["state", "owner", "cursor"])
        let states = QueuedTask.State.allCases.map(\.rawValue)
        state = address.word("state", "state", of: states, QueuedTask.State.init)
        let cursor = address.cursor { FireID($0) }
        mistakes = address.mistakes
        guard mistakes.isEmpty else {
            (tasks, next) = ([], nil)
            return
        }
        var request = Self.request(for: queue, state)
        (tasks, next) = try await ListReader.rows(from: cursor) { start in
            request.cursor = start
            let reply = try await session.client.listTasks(request)
            return (reply.tasks, reply.cursor)
        }
    }

    /// Asks for the tasks of one queue: without its owner an administrator would be told those of all users' queues of
    /// that name, and act on them.
    static func request(for queue: TaskQueue, _ state: QueuedTask.State?) -> ListTasks {
        var request = ListTasks()
        (request.queue, request.owner, request.state) = (queue.queue, queue.owner, state)
        return request
    }

    /// Another's queue is shown to administrators alone, and they may do with it what its owner may.
    private var isOwn: Bool { queue.owner == parts.visit.site.user }

    private func link(_ verbs: String...) -> Link {
        Link(path: ["queues", queue.queue] + verbs).with("owner", isOwn ? nil : queue.owner)
    }
}

extension QueuePage: PageContent {
    var page: Page {
        Page(
            "Queue \(queue.queue)",
            in: .queues,
            atMost: .seconds,
            status: mistakes.status
        ) {
            div(.class("beside")) {
                div {
                    head
                    list
                }
                aside(.aria("label", "What you can do")) {
                    if !isOwn {
                        p(.class("soft")) {
                            "It is a queue of "
                            bdi { queue.owner }
                            "'s."
                        }
                    }
                    QueueActions(queue: queue, parts: parts).sections
                }
            }
        }
    }

    private var head: Node {
        div(.class("head"), .data("live", "head")) {
            h1 {
                "Queue "
                bdi { queue.queue }
            }
            if queue.paused {
                " "
                parts.state(StateWord("paused", .paused))
            }
            " "
            ul(.class("counts")) {
                for (count, word) in [
                    (queue.ready, "ready"), (queue.reserved, "reserved"),
                    (queue.delayed, "delayed"),
                    (queue.dead, "dead"),
                ] {
                    li {
                        b { count.grouped }
                        " \(word)"
                    }
                }
                li(.class("none")) {
                    queue.waiting == 0
                        ? "no worker waits"
                        : "\(queue.waiting.of("worker")) \(queue.waiting == 1 ? "waits" : "wait")"
                }
            }
        }
    }

    private var list: Node {
        section(.aria("labelledby", "h-tasks"), .data("live", "tasks")) {
            div(.class("head")) {
                h2(.id("h-tasks")) { "Tasks" }
                " "
                nav(.class("views"), .aria("label", "Which tasks")) {
                    view("All", nil)
                    for state in [QueuedTask.State.ready, .reserved, .delayed, .dead] {
                        " "
                        view(state.rawValue.asTitle, state)
                    }
                }
            }
            if !mistakes.isEmpty {
                parts.mistaken(mistakes, all: link())
            } else if tasks.isEmpty {
                p(.class("empty")) {
                    if let next {
                        "None of the tasks that were looked at is one. "
                        a(.href(further(next))) { "Look further" }
                        "."
                    } else {
                        "There is none."
                    }
                }
            } else {
                form(.method(.post), .action(link("tasks"))) {
                    parts.visit.formKey
                    table
                    if let next {
                        div(.class("pages")) {
                            a(.href(further(next)), .named("rel", "next")) { "Next page" }
                        }
                    }
                    bulk
                }
            }
        }
    }

    private func further(_ next: FireID) -> Link {
        link().with("state", state?.rawValue).with("cursor", "\(next)")
    }

    private func view(_ word: String, _ other: QueuedTask.State?) -> Node {
        a(
            .href(link().with("state", other?.rawValue)),
            other == state ? .aria("current", "page") : nil
        ) { word }
    }

    private var table: Node {
        HTML.table(.class("list")) {
            caption(.class("hush")) { "Tasks" }
            thead {
                tr {
                    th(.class("check")) {
                        input(
                            .type("checkbox"),
                            .data("all"),
                            .aria("label", "Choose all on this page")
                        )
                    }
                    th(.named("scope", "col")) { "State" }
                    th(.named("scope", "col")) { "Job" }
                    th(.named("scope", "col")) { "Since, or until" }
                    th(.named("scope", "col"), .class("num")) { "Attempt" }
                    th(.named("scope", "col"), .class("num")) { "Priority" }
                    th(.named("scope", "col")) { "Failed with" }
                }
            }
            tbody { tasks.map(row) }
        }
    }

    private func row(_ task: QueuedTask) -> Node {
        let date = task.state == .reserved ? task.leaseUntil : task.readyAt
        return tr {
            td(.class("check")) {
                input(
                    .type("checkbox"),
                    .name("fire"),
                    .value("\(task.fire)"),
                    .aria("label", "Choose task \(task.fire)")
                )
            }
            td(.class("what")) { parts.state(task.stateWord) }
            th(.named("scope", "row"), .class("name")) {
                a(.href(Link("jobs", "\(task.job)"))) { parts.jobName(task.name, task.job) }
                " "
                span(.class("soft")) { "task \(task.fire)" }
            }
            td(.class("date")) { parts.when(date ?? task.fireDate) }
            td(.class("num"), .data("word", "attempt")) { "\(task.attempt)" }
            td(.class("num"), .data("word", "priority")) { "\(task.priority)" }
            td(.class("why")) {
                if let reason = task.reason { bdi { reason } }
            }
        }
    }

    private var bulk: Node {
        div(.class("bulk")) {
            button(.name("do"), .value("retry")) { "Retry" }
            " "
            button(.class("danger"), .name("do"), .value("drop"), .data("dialog")) { "Drop" }
            " "
            span(.class("soft"), .data("chosen"))
            " "
            span(.class("soft")) {
                "Retry: dead ones are ready again, with all their retries. Neither can be undone."
            }
        }
    }
}

extension QueuedTask {
    var stateWord: StateWord {
        switch state {
        case .ready: StateWord("ready", .ready)
        case .delayed: StateWord("delayed", .delayed)
        case .reserved: StateWord("reserved", .running)
        case .dead: StateWord("dead", .dead)
        case .done, nil: StateWord("done", .ok)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import HTML
import TimerControl

/// All queues: how full, how old, how many work.
struct QueuesPage {
    private let parts: Parts
    private let queues: [TaskQueue]
    /// Whose queues alone are shown; nil for those of all.
    private let owner: String?
    /// What the address says that means nothing.
    private let mistakes: [String]

    init(_ visit: Visit, _ session: Session) async throws {
        parts = Parts(visit)
        let address = AddressReader(visit.link.query, once: ["owner"])
        (owner, mistakes) = (address.text("owner"), address.mistakes)
        queues = mistakes.isEmpty ? try await session.client.listQueues(owner: owner) : []
    }
}

extension QueuesPage: PageContent {
    var page: Page {
        Page("Queues", in: .queues, atMost: .seconds, status: mistakes.status) {
            div(.class("head"), .data("live", "head")) {
                h1 { "Queues" }
                if !queues.isEmpty {
                    " "
                    span(.class("count soft")) { queues.count.grouped }
                }
            }
            section(.id("list"), .data("live", "list")) {
                if !mistakes.isEmpty {
                    parts.mistaken(mistakes, all: Link("queues"))
                } else if queues.isEmpty, let owner {
                    p(.class("empty")) {
                        "There is no queue of '"
                        bdi { owner }
                        "'. "
                        a(.href(Link("queues"))) { "Show all" }
                        "."
                    }
                } else if queues.isEmpty {
                    p(.class("empty")) {
                        "There is no queue. A job with a queue hands its fires to workers: "
                        code { "timerctl add --in 1min --queue mails" }
                        "."
                    }
                } else {
                    list
                }
            }
        }
    }

    private var list: Node {
        table(.class("list")) {
            caption(.class("hush")) { "Queues" }
            thead {
                tr {
                    th(.named("scope", "col")) { "Name" }
                    for title in ["Ready", "Oldest", "Reserved", "Delayed", "Dead", "Workers wait"]
                    {
                        th(
                            .named("scope", "col"),
                            title == "Oldest" ? nil : .class("num")
                        ) { title }
                    }
                    th(.named("scope", "col")) { "Limits" }
                }
            }
            tbody { queues.map(row) }
        }
    }

    private func row(_ queue: TaskQueue) -> Node {
        let isOwn = queue.owner == parts.visit.site.user
        let link = Link("queues", queue.queue).with("owner", isOwn ? nil : queue.owner)
        return tr {
            th(.named("scope", "row"), .class("name")) {
                a(.href(link)) { bdi { queue.queue } }
                if !isOwn {
                    " "
                    span(.class("soft")) { queue.owner }
                }
                if queue.paused {
                    " "
                    parts.state(StateWord("paused", .paused))
                }
            }
            td(.class("num"), .data("word", "ready")) { queue.ready.grouped }
            td(.data("word", "oldest")) { queue.oldest.map(parts.when) }
            td(.class("num"), .data("word", "reserved")) { queue.reserved.grouped }
            td(.class("num"), .data("word", "delayed")) { queue.delayed.grouped }
            td(.class("num"), .data("word", "dead")) {
                if queue.dead > 0 {
                    parts.state(
                        StateWord(queue.dead.grouped, .dead),
                        link.with("state", "dead")
                    )
                } else {
                    "0"
                }
            }
            td(.class("num"), .data("word", "workers")) { queue.waiting.grouped }
            td(.data("word", "limits")) { queue.limits }
        }
    }
}

extension TaskQueue {
    /// "at most 8 at a time, 10/s"; empty for none.
    var limits: String {
        let reserved = maxReserved.flatMap { $0 > 0 ? "at most \($0.grouped) at a time" : nil }
        return [reserved, maxRate].compactMap(\.self).joined(separator: ", ")
    }
}

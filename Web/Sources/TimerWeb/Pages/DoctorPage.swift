// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// What is wrong, as far as the daemon tells it, and what to do.
struct DoctorPage {
    private let parts: Parts
    private let status: StatusReply
    private let findings: [Finding]

    struct Finding: Sendable {
        var level: Level
        var subject: String
        var words: Node
        var advice: String?

        enum Level: Int, Comparable, Sendable {
            case trouble, warning, ok

            static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

            var state: StateWord {
                switch self {
                case .trouble: StateWord("trouble", .failed)
                case .warning: StateWord("warning", .warning)
                case .ok: StateWord("ok", .ok)
                }
            }
        }
    }

    init(_ visit: Visit, _ session: Session) async throws {
        parts = Parts(visit)
        status = session.status
        var held = ListJobs()
        (held.held, held.limit) = (true, 5)
        let runs = try await NewestRuns(
            atMost: 100,
            at: visit.dates.now,
            session.client
        ).come
        let (jobs, next) = try await ListReader.rows(from: nil) { start in
            held.cursor = start
            let reply = try await session.client.listJobs(held)
            return (reply.jobs, reply.cursor)
        }
        let notices = try await NoticePages.read { start in
            try await session.client.call(
                .listNotices(ListNotices(limit: Limits.page, cursor: start)),
                as: NoticesReply.self
            )
        }
        let queues = try await Self.queues { request in
            try await session.client.call(.listQueues(request), as: QueuesReply.self)
        }
        let nodes =
            try await status.node == nil
            ? [] : Self.nodes { try await session.client.listNodes() }
        let diagnosis = Diagnosis(status: status, parts: parts)
        // What is wrong first; else in the order in which one would look.
        findings =
            diagnosis
            .findings(
                runs: runs,
                held: jobs,
                hasMoreHeld: next != nil,
                queues: queues,
                notices: .notices(notices.notices, areAll: notices.areAll, status),
                nodes: nodes
            )
            .enumerated().sorted { ($0.element.level, $0.offset) < ($1.element.level, $1.offset) }
            .map(\.element)
    }

    /// What is to be said of queues that are paused, or why they cannot be listed: the rest is told all the same.
    static func queues(
        _ read: (ListQueues) async throws -> QueuesReply
    ) async throws -> TimerWords.Finding? {
        do {
            let found = try await PausedQueuePages.read(read)
            return .queues(found.queues, areAll: found.areAll)
        } catch let error as ControlError {
            return .warning(
                "queues",
                "not checked: \(error.message)",
                "mend what it says, and load the page again"
            )
        }
    }

    /// What is to be said of the daemons that share their jobs, or why they cannot be listed: the rest is told all the same.
    static func nodes(
        _ list: () async throws -> NodesReply
    ) async throws -> [TimerWords.Finding] {
        do {
            return TimerWords.Finding.nodes(try await list())
        } catch let error as ControlError {
            return [.unknownNodes(error.message)]
        }
    }
}

extension DoctorPage.Finding {
    /// As `timerctl doctor` has it.
    init(_ finding: TimerWords.Finding) {
        let level: Level =
            switch finding.level {
            case .ok: .ok
            case .warning: .warning
            case .broken: .trouble
            }
        self.init(
            level: level,
            subject: finding.subject,
            words: bdi { finding.text },
            advice: finding.advice
        )
    }
}

extension DoctorPage: PageContent {
    var page: Page {
        Page("Doctor", in: .doctor, atMost: .halfMinute) {
            div(.data("live", "head")) {
                div(.class("head")) {
                    h1 { "Doctor" }
                    " "
                    parts.state(summary)
                }
                p(.class("lead")) {
                    "timerd \(status.version), process \(status.pid), up for \((status.now - status.startedAt).length)."
                }
            }
            ul(.class("checks"), .data("live", "checks")) { findings.map(row) }
            p(.class("soft")) {
                code { "timerctl doctor" }
                " also looks at the disk, the clock and the service, which the page cannot see."
            }
        }
    }

    private var summary: StateWord {
        let wrong = findings.count { $0.level != .ok }
        guard wrong > 0 else { return StateWord("all is well", .ok) }
        let isTrouble = findings.contains { $0.level == .trouble }
        return StateWord("\(wrong.of("thing")) to look at", isTrouble ? .failed : .warning)
    }

    private func row(_ finding: Finding) -> Node {
        li {
            parts.state(finding.level.state)
            " "
            b { finding.subject }
            " "
            p { finding.words }
            // Not as a sentence: it may begin with a command, which has no capital.
            finding.advice.map { advice in p(.class("todo")) { bdi { advice } } }
        }
    }
}

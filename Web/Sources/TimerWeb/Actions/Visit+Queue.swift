// SPDX-License-Identifier: Apache-2.0

import HTML
import TimerControl

extension Visit {
    /// Does something with a queue, or with tasks of it.
    func carryOut(_ action: QueueAction, _ name: String) async throws -> Answer {
        let page = queueLink(name)
        do {
            if action == .tasks, field("do") == "drop", field("confirmed") == nil {
                return try await questionOfTasks(name)
            }
            let (words, isChanged) = try await site.daemon.connected { session in
                try await done(action, name, session.client)
            }
            return redirect(
                to: page,
                .done(
                    group {
                        "Queue "
                        bdi { name }
                        ": \(words)."
                    },
                    // What somebody else has done is not undone.
                    undo: isChanged
                        ? action.opposite.map {
                            Flash.Undo(label: "Undo", action: queueLink(name, $0))
                        } : nil
                )
            )
        } catch let error as ControlError {
            return redirect(to: page, .refused(error.message))
        }
    }

    /// What was done, in words, and whether it was not so before.
    private func done(
        _ action: QueueAction,
        _ name: String,
        _ client: ControlClient
    ) async throws -> (words: String, isChanged: Bool) {
        switch action {
        case .pause, .resume:
            let isPause = action == .pause
            if try await queue(name, client)?.paused ?? false == isPause {
                return (isPause ? "it was paused already" : "it was resumed already", false)
            }
            var request = SetQueue(queue: name)
            (request.owner, request.paused) = (query("owner"), isPause)
            try await client.setQueue(request)
            let words =
                isPause
                ? "no task is handed out until it is resumed" : "its tasks are handed out again"
            return (words, true)
        case .limit:
            let now = try await queue(name, client)
            var request = try QueueLimits(self, name).request(changing: now)
            request.owner = query("owner")
            let limits = try await client.setQueue(request).queue.limits
            return (limits.isEmpty ? "it has no limits" : limits, true)
        case .kick, .retry, .drop, .tasks:
            return (try await doneWithTasks(action, name, client), true)
        }
    }

    /// The queue that is changed: this user's, or that of another where an administrator came from there.
    private func queue(_ name: String, _ client: ControlClient) async throws -> TaskQueue? {
        try await client.listQueues(owner: query("owner") ?? site.user).first { $0.queue == name }
    }

    /// The page of that queue, or what is done with it.
    private func queueLink(_ name: String, _ action: QueueAction? = nil) -> Link {
        Link(path: ["queues", name] + [action?.rawValue].compactMap(\.self))
            .with("owner", query("owner"))
    }

    private func doneWithTasks(
        _ action: QueueAction,
        _ name: String,
        _ client: ControlClient
    ) async throws -> String {
        switch action {
        case .pause, .resume, .limit: throw NotFound(description: "there are no such tasks")
        case .kick:
            var request = KickTasks(queue: name, count: Limits.manyTasks)
            request.owner = query("owner")
            let count = try await client.kickTasks(request)
            return "\(count.of("delayed task")) \(count == 1 ? "is" : "are") ready"
        case .retry:
            let count = try await client.retryTasks(
                .queue(name, owner: query("owner"), count: Limits.manyTasks)
            )
            return "\(count.of("dead task")) \(count == 1 ? "is" : "are") ready again"
        case .drop:
            let count = try await client.dropTasks(
                .queue(
                    name,
                    owner: query("owner"),
                    state: droppedState(),
                    count: Limits.manyTasks
                )
            )
            return "\(count.of("task")) dropped"
        case .tasks:
            let fires = fields("fire").compactMap { FireID($0) }
            guard !fires.isEmpty else { throw ControlError(.invalidParams, "no task was chosen") }
            let isDropped = field("do") == "drop"
            let count =
                isDropped
                ? try await client.dropTasks(.fires(fires))
                : try await client.retryTasks(.fires(fires))
            return "\(count.of("task")) \(isDropped ? "dropped" : "ready again")"
        }
    }

    /// Dead ones, unless another state is said.
    private func droppedState() throws -> QueuedTask.State {
        guard let text = field("state") ?? query("state") else { return .dead }
        guard let state = QueuedTask.State(rawValue: text) else {
            let states = QueuedTask.State.allCases.map(\.rawValue).joined(separator: ", ")
            throw ControlError(
                .invalidParams,
                "'\(text)' is no state; it is one of \(states)"
            )
        }
        return state
    }

    // MARK: - Asking first

    func question(
        _ action: QueueAction,
        _ name: String,
        _ session: Session
    ) async throws -> QuestionPage {
        let verb: String
        let sentence: String
        switch action {
        case .pause:
            (verb, sentence) = (
                "Pause", "It hands out no task until it is resumed. What is reserved goes on."
            )
        case .resume: (verb, sentence) = ("Resume", "It hands out its tasks again.")
        case .kick:
            (verb, sentence) = (
                "Kick", "Its delayed tasks are ready at once. It cannot be undone."
            )
        case .retry:
            (verb, sentence) = (
                "Retry the dead tasks of",
                "They are ready again, with all their retries. It cannot be undone."
            )
        case .drop:
            (verb, sentence) = (
                "Drop the \(try droppedState().rawValue) tasks of",
                "Nobody does them any more; their fires are skipped, and say so. It cannot be undone."
            )
        case .limit, .tasks: throw NotFound(description: "there is no such page")
        }
        let question = Question(
            title: "\(verb) queue \(name)?",
            heading: group {
                "\(verb) queue "
                bdi { name }
                "?"
            },
            content: p { sentence },
            action: queueLink(name, action),
            fields: action == .drop ? [Link.Field("state", try droppedState().rawValue)] : [],
            button: action == .drop ? "Drop them" : "Do it",
            isDangerous: action == .drop,
            cancel: queueLink(name)
        )
        return QuestionPage(question, self, in: .queues)
    }

    private func questionOfTasks(_ name: String) async throws -> Answer {
        let fires = fields("fire").compactMap { FireID($0) }
        guard !fires.isEmpty else { throw ControlError(.invalidParams, "no task was chosen") }
        let question = Question(
            title: "Drop \(fires.count.of("task"))?",
            heading: "Drop \(fires.count.of("task"))?",
            content: p {
                "Nobody does \(fires.count == 1 ? "it" : "them") any more. It cannot be undone."
            },
            action: queueLink(name, .tasks),
            fields: [Link.Field("do", "drop"), Link.Field("confirmed", "1")]
                + fires.map { Link.Field("fire", "\($0)") },
            button: "Drop \(fires.count.of("task"))",
            isDangerous: true,
            cancel: queueLink(name)
        )
        return try await page { _ in QuestionPage(question, self, in: .queues) }
    }
}

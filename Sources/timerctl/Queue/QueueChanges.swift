// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// `timerctl queue retry`: dead tasks are ready again.
struct QueueRetry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Have dead tasks ready again, with all their retries.",
        discussion: """
            One whose job has an --until that has passed is refused, or passed over in a queue.

            Examples:
              timerctl queue retry 17 18
              timerctl queue retry --queue mails
            """
    )

    @OptionGroup var tasks: TaskArguments
    @OptionGroup var common: CommonOptions

    func run() async throws {
        let tasks: TaskSelection =
            self.tasks.queue.map { .queue($0, owner: self.tasks.owner, count: self.tasks.count) }
            ?? .fires(self.tasks.fires)
        try await count(.retryTasks(tasks), of: self.tasks, common) { "\($0) ready again" }
    }
}

/// `timerctl queue drop`: tasks that nobody is to do any more.
struct QueueDrop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Drop tasks: nobody is to do them any more.",
        discussion: """
            A task that a worker has is refused; 'timerctl invalidate --kill' ends its job.

            Examples:
              timerctl queue drop 17
              timerctl queue drop --queue mails --state dead
            """
    )

    @OptionGroup var tasks: TaskArguments

    @Option(
        help: ArgumentHelp(
            "Needed with --queue: those in this state, ready, delayed or dead.",
            valueName: "state"
        ),
        completion: .list(QueuedTask.State.dropped.map(\.rawValue)),
        transform: { try taskState($0, among: QueuedTask.State.dropped) }
    )
    var state: QueuedTask.State?

    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        guard (tasks.queue == nil) == (state == nil) else {
            throw ValidationError(
                state == nil
                    ? "say which tasks of the queue: --state with ready, delayed or dead"
                    : "--state goes with --queue"
            )
        }
    }

    func run() async throws {
        var selection = DropTasks.fires(tasks.fires)
        if let queue = tasks.queue, let state {
            selection = .queue(queue, owner: tasks.owner, state: state, count: tasks.count)
        }
        try await count(.dropTasks(selection), of: tasks, common) { "\($0) dropped" }
    }
}

/// `timerctl queue kick`: delayed tasks are ready at once.
struct QueueKick: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kick",
        abstract: "Have the delayed tasks of a queue ready at once.",
        discussion: """
            Those whose jobs have an --until that has passed are passed over.

            Examples:
              timerctl queue kick mails
              timerctl queue kick mails --count 10
            """
    )

    @OptionGroup var queue: QueueArgument

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How many at most, 1 to 10000; default 1000.", valueName: "number"),
        transform: wholeNumber("--count", "from 1 to \(Limits.manyTasks)")
    )
    var count: Int?

    @OptionGroup var whose: QueueOwner
    @OptionGroup var common: CommonOptions

    mutating func validate() throws { try checkCount(count, 1...Limits.manyTasks) }

    func run() async throws {
        var request = KickTasks(queue: queue.queue, count: count)
        request.owner = whose.owner
        try await timerctl.count(.kickTasks(request), atMost: count ?? standardCount, common) {
            "\($0) ready now"
        }
    }
}

private func count(
    _ request: Request,
    of tasks: TaskArguments,
    _ common: CommonOptions,
    _ sentence: (String) -> String
) async throws {
    let most = tasks.queue == nil ? nil : tasks.count ?? standardCount
    try await count(request, atMost: most, common, sentence)
}

/// `most`: how many of a queue are changed at a time; nil for tasks by their numbers.
private func count(
    _ request: Request,
    atMost most: Int?,
    _ common: CommonOptions,
    _ sentence: (String) -> String
) async throws {
    let answer = try await Daemon.ask(common, request, for: CountReply.self)
    let count = answer.value.count
    let words = sentence(count.tasksAre)
    try Output.write(common.json ? answer.jsonLine : words + "\n", done: words)
    if count == most { Output.tell("the queue may have more; the same command goes on with them") }
}

/// How many tasks of a queue are changed at a time, where nothing says how many.
private let standardCount = 1000

extension Int {
    /// "1 task is", "2 tasks are".
    var tasksAre: String { self == 1 ? "1 task is" : "\(self) tasks are" }
}

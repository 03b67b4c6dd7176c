// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// `timerctl queue pause`: nothing more is handed out.
struct QueuePause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Hand out no tasks of a queue until it is resumed.",
        discussion: """
            Tasks go on to come in, and those in progress go on. The queue is your own; root names \
            another user with --owner.

            Examples:
              timerctl queue pause mails
            """
    )

    @OptionGroup var queue: QueueArgument
    @OptionGroup var whose: QueueOwner
    @OptionGroup var common: CommonOptions

    func run() async throws {
        var request = SetQueue(queue: queue.queue)
        request.owner = whose.owner
        request.paused = true
        try await change(request, common) { "\($0.title): paused; \($0.ready.tasksAre) ready" }
    }
}

/// `timerctl queue resume`.
struct QueueResume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Hand out the tasks of a queue that was paused.",
        discussion: """
            Examples:
              timerctl queue resume mails
            """
    )

    @OptionGroup var queue: QueueArgument
    @OptionGroup var whose: QueueOwner
    @OptionGroup var common: CommonOptions

    func run() async throws {
        var request = SetQueue(queue: queue.queue)
        request.owner = whose.owner
        request.paused = false
        try await change(request, common) { "\($0.title): resumed; \($0.ready.tasksAre) ready" }
    }
}

/// `timerctl queue limit`: how many tasks are in progress at a time, and handed out in a time.
struct QueueLimit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "Limit how many tasks of a queue are handed out.",
        discussion: """
            What is not said stays as it is.

            Examples:
              timerctl queue limit mails --reserved 5 --rate 100/min
              timerctl queue limit mails --reserved 0 --rate none
            """
    )

    @OptionGroup var queue: QueueArgument

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How many are in progress at a time, 1 to 1000000; 0 for no limit.",
            valueName: "number"
        ),
        transform: wholeNumber("--reserved", "from 0 to \(Limits.tasksInProgress)")
    )
    var reserved: Int?

    @Option(
        help: ArgumentHelp(
            "How many are handed out in a time, such as 10/s, 100/min or 5000/h; none for no limit.",
            valueName: "rate"
        )
    )
    var rate: String?

    @OptionGroup var whose: QueueOwner
    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        guard reserved != nil || rate != nil else {
            throw ValidationError(
                "say what the limit is: --reserved with a number, --rate, or both"
            )
        }
        try checkCount(reserved, 0...Limits.tasksInProgress, "--reserved")
        if let rate, rate != "none", TaskRate(parsing: rate) == nil {
            throw ValidationError(
                "--rate is '\(rate)', accepted is a number of tasks in a time, such as 10/s, 100/min or 5000/h, or none"
            )
        }
    }

    func run() async throws {
        var request = SetQueue(queue: queue.queue)
        request.owner = whose.owner
        (request.maxReserved, request.maxRate) = (reserved, rate)
        try await change(request, common) {
            "\($0.title): \($0.limits == "-" ? "no limits" : $0.limits)"
        }
    }
}

private func change(
    _ request: SetQueue,
    _ common: CommonOptions,
    _ sentence: (TaskQueue) -> String
) async throws {
    let daemon = try await Daemon.connect(common)
    let answer = try await daemon.ask(.setQueue(request), for: QueueReply.self)
    let queue = answer.value.queue
    try Output.write(
        common.json ? answer.jsonLine("queue") : Printable.escaped(sentence(queue)) + "\n",
        done: "\(queue.title) was changed"
    )
    guard answer.value.made == true else { return }
    // Without them the sentence is true all the same, and the change is done.
    let others = (try? await daemon.queues()) ?? []
    Output.tell(queue.madeSentence(among: others))
}

extension TaskQueue {
    /// That there was no such queue before, and which of `others` may have been meant.
    func madeSentence(among others: [TaskQueue]) -> String {
        let owners = others.filter { $0.queue == queue && $0.owner != owner }
            .map { "'\(Printable.escaped($0.owner))'" }
        let made = "\(title) was made: you had none of this name"
        guard !owners.isEmpty else { return made }
        return "\(made); --owner means that of \(owners.joined(separator: " or "))"
    }
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// One attempt at a task, as `reserve` has printed it.
struct AttemptArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The task's number.", valueName: "fire"),
        transform: { try fireID($0) }
    )
    var fire: FireID

    @Argument(
        help: ArgumentHelp("The attempt's token.", valueName: "token"),
        transform: { try attemptToken($0) }
    )
    var token: RunID

    var reference: TaskReference { TaskReference(fire: fire, token: token) }
}

/// `timerctl queue finish`.
struct QueueFinish: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "finish",
        abstract: "Say that a task is done.",
        discussion: """
            Examples:
              timerctl queue finish 17 41
            """
    )

    @OptionGroup var attempt: AttemptArguments
    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await tell(.finishTasks(FinishTasks(attempt.reference)), common)
    }
}

/// `timerctl queue fail`.
struct QueueFail: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fail",
        abstract: "Say that a task has failed; it is tried again if it has retries left.",
        discussion: """
            Examples:
              timerctl queue fail 17 41 --reason 'no route to the server'
            """
    )

    @OptionGroup var attempt: AttemptArguments

    @Option(help: ArgumentHelp("Why, at most 4096 bytes.", valueName: "text"))
    var reason: String?

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let task = FailedTask(attempt.reference, reason: reason)
        try await tell(.failTasks(FailTasks(task)), common)
    }
}

/// `timerctl queue release`.
struct QueueRelease: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "Give a task back; it costs no retry.",
        discussion: """
            Examples:
              timerctl queue release 17 41 --delay 5min
            """
    )

    @OptionGroup var attempt: AttemptArguments

    @Option(
        help: ArgumentHelp("When it is ready again; default at once.", valueName: "duration")
    )
    var delay: String?

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let task = ReleasedTask(attempt.reference, delay: delay)
        try await tell(.releaseTasks(ReleaseTasks(task)), common)
    }
}

/// `timerctl queue extend`.
struct QueueExtend: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extend",
        abstract: "Begin a task's lease anew.",
        discussion: """
            Examples:
              timerctl queue extend 17 41
              timerctl queue extend 17 41 --lease 10min
            """
    )

    @OptionGroup var attempt: AttemptArguments

    @Option(
        help: ArgumentHelp(
            "How long from now; default what was said last, at its reservation or an extension.",
            valueName: "duration"
        )
    )
    var lease: String?

    @OptionGroup var common: CommonOptions

    func run() async throws {
        var request = ExtendTasks(attempt.reference)
        request.lease = lease
        try await tell(.extendTasks(request), common)
    }
}

private func tell(_ request: Request, _ common: CommonOptions) async throws {
    let answer = try await Daemon.ask(common, request, for: TaskOutcomeReply.self)
    let dates = LocalDate(now: .now, zone: .local)
    let sentence = answer.value.task.sentence(dates)
    try Output.write(common.json ? answer.jsonLine("task") : sentence + "\n", done: sentence)
}

extension TaskOutcome {
    /// "task 17: delayed, ready at 09:00:05".
    func sentence(_ dates: LocalDate) -> String {
        var words = "task \(fire): \(state?.rawValue ?? error?.message ?? "unknown")"
        if let leaseUntil { words += ", its lease ends \(dates.phrase(leaseUntil))" }
        if let readyAt, state == .delayed { words += ", ready \(dates.phrase(readyAt))" }
        return words
    }
}

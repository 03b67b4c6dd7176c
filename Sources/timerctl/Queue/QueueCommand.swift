// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// `timerctl queue`: the tasks that wait for workers.
struct QueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Look after queues and their tasks, and work on them.",
        discussion: """
            A fire of a job with --queue is a task: it waits until a worker takes it. 'work' is a \
            worker; 'reserve' and what stands behind it are for one that is a script.

            Examples:
              timerctl queue list
              timerctl queue work mails -- ./send-mail
              timerctl queue tasks mails --state dead
              timerctl queue retry --queue mails
            """,
        subcommands: [
            QueueList.self, QueueShow.self, QueueTasks.self, QueueWork.self,
            QueuePause.self, QueueResume.self, QueueLimit.self,
            QueueRetry.self, QueueDrop.self, QueueKick.self,
            QueueReserve.self, QueueFinish.self, QueueFail.self, QueueRelease.self,
            QueueExtend.self,
        ]
    )
}

/// One queue.
struct QueueArgument: ParsableArguments {
    @Argument(help: ArgumentHelp("The queue.", valueName: "queue"), completion: .queues)
    var queue: String

    mutating func validate() throws {
        if queue.isEmpty { throw ValidationError("say which queue: its name is empty") }
    }
}

/// Whose queue a command changes.
struct QueueOwner: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The queue of this user, a name or a uid; default your own. For administrators.",
            valueName: "user"
        )
    )
    var owner: String?
}

/// Tasks by their numbers, or those of a queue.
struct TaskArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The numbers of tasks.", valueName: "fire"),
        transform: { try fireID($0) }
    )
    var fires: [FireID] = []

    @Option(help: "In place of numbers: tasks of this queue, the oldest.", completion: .queues)
    var queue: String?

    @Option(
        help: ArgumentHelp(
            "With --queue: the queue of this user, a name or a uid; default your own. For administrators.",
            valueName: "user"
        )
    )
    var owner: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "With --queue: how many at most, 1 to 10000; default 1000.",
            valueName: "number"
        ),
        transform: wholeNumber("--count", "from 1 to \(Limits.manyTasks)")
    )
    var count: Int?

    mutating func validate() throws {
        guard fires.isEmpty != (queue == nil) else {
            throw ValidationError("say which tasks: their numbers, or --queue with a queue")
        }
        guard count == nil || queue != nil else {
            throw ValidationError("--count goes with --queue")
        }
        guard owner == nil || queue != nil else {
            throw ValidationError("--owner goes with --queue")
        }
        try checkCount(count, 1...Limits.manyTasks)
    }
}

func fireID(_ argument: String) throws -> FireID {
    guard argument.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int64(argument),
        number > 0
    else {
        throw ValidationError(
            "'\(argument)' is not the number of a task; 'timerctl queue tasks' shows them"
        )
    }
    return FireID(rawValue: number)
}

func attemptToken(_ argument: String) throws -> RunID {
    guard argument.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int64(argument),
        number > 0
    else {
        throw ValidationError(
            "'\(argument)' is not the token of an attempt; 'timerctl queue reserve' prints it"
        )
    }
    return RunID(rawValue: number)
}

func checkCount(_ count: Int?, _ range: ClosedRange<Int>, _ option: String = "--count") throws {
    guard let count, !range.contains(count) else { return }
    throw ValidationError(
        "\(option) is '\(count)', accepted is \(range.lowerBound) to \(range.upperBound)"
    )
}

extension CompletionKind {
    static let queues = shellCommand("timerctl complete queues 2>/dev/null")
}

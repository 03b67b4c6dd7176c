// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// `timerctl queue reserve`: takes tasks, for a worker that is a script.
struct QueueReserve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reserve",
        abstract: "Take tasks from queues; prints each as a line of JSON.",
        discussion: """
            Each has a 'fire' and a 'token', which finish, fail, release and extend want. Who says \
            nothing before the lease ends has lost the task. Without a task the exit status is 1.

            Examples:
              timerctl queue reserve mails --wait 1min
              timerctl queue reserve mails reports --count 10 --lease 10min
            """
    )

    @Argument(help: ArgumentHelp("The queues.", valueName: "queue"), completion: .queues)
    var queues: [String]

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How many at most, 1 to 1000; default 1.", valueName: "number"),
        transform: wholeNumber("--count", "from 1 to \(Limits.tasks)")
    )
    var count: Int?

    @Option(
        help: ArgumentHelp("How long they are yours; default 1min.", valueName: "duration")
    )
    var lease: String?

    @Option(
        help: ArgumentHelp(
            "How long to wait for the first, at most 1h; default not at all.",
            valueName: "duration"
        )
    )
    var wait: String?

    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        try checkCount(count, 1...Limits.tasks)
        try checkQueues(queues)
        if queues.count > Limits.queuesReserved {
            throw ValidationError(
                "\(queues.count) queues; at most \(Limits.queuesReserved) are accepted"
            )
        }
    }

    func run() async throws {
        var request = ReserveTasks(queues: queues)
        (request.count, request.lease, request.wait) = (count, lease, wait)
        let answer = try await Daemon.ask(common, .reserveTasks(request), for: TasksReply.self)
        let count = answer.value.tasks.count
        try Output.write(
            answer.jsonLines("tasks"),
            done: count == 1 ? "1 task was reserved" : "\(count) tasks were reserved"
        )
        if answer.value.tasks.isEmpty {
            let names = queues.map { "'\(Printable.escaped($0))'" }.joined(separator: ", ")
            throw Failure(.refused, "no task is ready in \(names)")
        }
    }
}

/// Refuses a name that no queue can have.
func checkQueues(_ queues: [String]) throws {
    for queue in queues {
        do throws(OptionRefusal) {
            try JobOption.queue.check(.text(queue))
        } catch {
            throw ValidationError("a queue's name\(error.predicate)")
        }
    }
}

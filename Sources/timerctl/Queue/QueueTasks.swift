// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl queue tasks`: the tasks that are not over.
struct QueueTasks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tasks",
        abstract: "List tasks that are not over, of one queue or of all.",
        discussion: """
            WHEN is since when a task is ready, when a delayed one will be, and when the lease of a \
            reserved one ends.

            Examples:
              timerctl queue tasks
              timerctl queue tasks mails --state dead
            """
    )

    @Argument(
        help: ArgumentHelp("The queue; default all.", valueName: "queue"),
        completion: .queues
    )
    var queue: String?

    @Option(
        help: ArgumentHelp("Only tasks in this state: \(taskStates).", valueName: "state"),
        completion: .list(QueuedTask.State.listed.map(\.rawValue)),
        transform: { try taskState($0, among: QueuedTask.State.listed) }
    )
    var state: QueuedTask.State?

    @Option(help: ArgumentHelp("Only tasks of this user, a name or a uid.", valueName: "user"))
    var owner: String?

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        var request = ListTasks()
        (request.queue, request.state, request.owner) = (queue, state, owner)
        request.limit = Limits.page
        var tasks: [QueuedTask] = []
        repeat {
            let page = try await daemon.ask(.listTasks(request), for: TasksReply.self)
            if common.json { try Output.write(page.jsonLines("tasks")) }
            tasks += page.value.tasks
            request.cursor = page.value.cursor
        } while request.cursor != nil
        if tasks.isEmpty { return try NothingFound.tell("no such tasks", owner: owner) }
        if common.json { return }
        let dates = LocalDate(now: .now, zone: .local)
        try Output.write(Self.table(of: tasks, dates: dates).text(for: .current))
    }

    static func table(of tasks: [QueuedTask], dates: LocalDate) -> Table {
        var table = Table(columns: [
            .init(title: "TASK", isRightAligned: true),
            .init(title: "JOB", isRightAligned: true, rank: 4),
            .init(title: "NAME", narrowest: 8, rank: 3), .init(title: "QUEUE", narrowest: 8),
            .init(title: "STATE"), .init(title: "WHEN", rank: 1),
            .init(title: "PRIORITY", isRightAligned: true, rank: 6),
            .init(title: "ATTEMPT", isRightAligned: true, rank: 5),
            .init(title: "LAST ERROR", rank: 2),
        ])
        table.rows = tasks.map { task in
            let when = task.state == .reserved ? task.leaseUntil : task.readyAt
            return [
                "\(task.fire)", "\(task.job)", .init(task.name ?? "-"), .init(task.queue),
                .init(task.state?.rawValue ?? "-", task.state == .dead ? .red : nil),
                .init(when.map(dates.distance) ?? "-"), "\(task.priority)", "\(task.attempt)",
                .init(task.reason ?? "-"),
            ]
        }
        return table
    }
}

private let taskStates = QueuedTask.State.listed.map(\.rawValue).joined(separator: ", ")

extension QueuedTask.State {
    /// Those that a task may be listed in.
    static let listed: [Self] = [.ready, .delayed, .reserved, .dead]
    /// Those that a task may be dropped in.
    static let dropped: [Self] = [.ready, .delayed, .dead]
}

func taskState(_ argument: String, among states: [QueuedTask.State]) throws -> QueuedTask.State {
    guard let state = QueuedTask.State(rawValue: argument), states.contains(state) else {
        let words = states.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("--state '\(argument)' is none of \(words)")
    }
    return state
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl queue list`: the queues in a table.
struct QueueList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List queues: how many tasks each has, and who waits for them.",
        discussion: """
            OLDEST is since when the task has been ready that has been so longest, whatever its \
            priority; WORKERS how many wait for one.

            Examples:
              timerctl queue list
              timerctl queue list --json | jq -r 'select(.dead > 0) | .queue'
            """,
        aliases: ["ls"]
    )

    @Option(help: ArgumentHelp("Only queues of this user, a name or a uid.", valueName: "user"))
    var owner: String?

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        var request = ListQueues(owner: owner)
        request.limit = Limits.page
        var queues: [TaskQueue] = []
        repeat {
            let page = try await daemon.ask(.listQueues(request), for: QueuesReply.self)
            if common.json { try Output.write(page.jsonLines("queues")) }
            queues += page.value.queues
            request.cursor = page.value.cursor
        } while request.cursor != nil
        if queues.isEmpty {
            return try NothingFound.tell(
                "no queues; 'timerctl add --queue NAME' adds a job for one",
                owner: owner
            )
        }
        if common.json { return }
        let dates = LocalDate(now: .now, zone: .local)
        try Output.write(Self.table(of: queues, dates: dates).text(for: .current))
    }

    static func table(of queues: [TaskQueue], dates: LocalDate) -> Table {
        // Whose they are is only worth a column where it differs.
        let showsOwner = Set(queues.lazy.map(\.owner)).count > 1
        var table = Table(columns: [.init(title: "QUEUE", narrowest: 8)])
        if showsOwner { table.columns.append(.init(title: "OWNER", narrowest: 8)) }
        table.columns += [
            .init(title: "READY", isRightAligned: true),
            .init(title: "DELAYED", isRightAligned: true, rank: 2),
            .init(title: "RESERVED", isRightAligned: true, rank: 1),
            .init(title: "DEAD", isRightAligned: true), .init(title: "OLDEST", rank: 4),
            .init(title: "WORKERS", isRightAligned: true, rank: 3), .init(title: "LIMITS"),
        ]
        table.rows = queues.map { queue in
            var cells: [Table.Cell] = [.init(queue.queue)]
            if showsOwner { cells.append(.init(queue.owner)) }
            return cells + [
                "\(queue.ready)", "\(queue.delayed)", "\(queue.reserved)",
                .init("\(queue.dead)", queue.dead > 0 ? .red : nil),
                .init(queue.oldest.map(dates.distance) ?? "-"), "\(queue.waiting)",
                .init(queue.limits, queue.paused ? .yellow : nil),
            ]
        }
        return table
    }
}

extension Daemon {
    /// All queues that the caller may see, or those of one owner, page by page.
    func queues(of owner: String? = nil) async throws(Failure) -> [TaskQueue] {
        var request = ListQueues(owner: owner)
        request.limit = Limits.page
        var queues: [TaskQueue] = []
        repeat {
            let page = try await ask(.listQueues(request), for: QueuesReply.self).value
            queues += page.queues
            request.cursor = page.cursor
        } while request.cursor != nil
        return queues
    }
}

extension TaskQueue {
    /// "paused, 5 at a time, 10/s", or "-".
    var limits: String {
        var words: [String] = paused ? ["paused"] : []
        if let maxReserved, maxReserved > 0 { words.append("\(maxReserved) at a time") }
        if let maxRate, maxRate != "none" { words.append(maxRate) }
        return words.isEmpty ? "-" : words.joined(separator: ", ")
    }

    /// "queue 'mails'".
    var title: String { "queue '\(Printable.escaped(queue))'" }
}

/// `timerctl queue show`: one queue, a line for each thing.
struct QueueShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one queue: its tasks by state, its workers and its limits.",
        discussion: """
            Examples:
              timerctl queue show mails
            """
    )

    @OptionGroup var queue: QueueArgument

    @Option(help: ArgumentHelp("The queue of this user, a name or a uid.", valueName: "user"))
    var owner: String?

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        var request = ListQueues(owner: owner)
        request.limit = Limits.page
        var found: [(queue: TaskQueue, json: JSONValue)] = []
        repeat {
            let page = try await daemon.ask(.listQueues(request), for: QueuesReply.self)
            var lines: [JSONValue] = []
            if case .array(let elements)? = page.json["queues"] { lines = elements }
            found += zip(page.value.queues, lines).filter { $0.0.queue == queue.queue }
            request.cursor = page.value.cursor
        } while request.cursor != nil
        guard !found.isEmpty else {
            throw Failure(
                .refused,
                "there is no queue '\(Printable.escaped(queue.queue))'; 'timerctl queue list' shows those there are"
            )
        }
        let dates = LocalDate(now: .now, zone: .local)
        for (queue, json) in found {
            try Output.write(common.json ? json.jsonLine : Self.text(queue, dates))
        }
    }

    static func text(_ queue: TaskQueue, _ dates: LocalDate) -> String {
        let rows = [
            ("queue", Printable.escaped(queue.queue)), ("owner", Printable.escaped(queue.owner)),
            ("ready", "\(queue.ready)"), ("delayed", "\(queue.delayed)"),
            ("reserved", "\(queue.reserved)"), ("dead", "\(queue.dead)"),
            ("oldest", queue.oldest.map { "\(dates.full($0)) (\(dates.distance($0)))" } ?? "-"),
            ("workers", "\(queue.waiting) waiting"), ("limits", Printable.escaped(queue.limits)),
        ]
        return rows.map { name, value in
            name + String(repeating: " ", count: 10 - name.utf8.count) + value + "\n"
        }.joined()
    }
}

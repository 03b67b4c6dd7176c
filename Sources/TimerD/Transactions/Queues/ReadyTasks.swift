// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// The ready tasks of several queues, in the order in which they are handed out.
///
/// Reads the rows of a queue as they are needed: so the work is that of the tasks that are handed out and of one look at
/// each queue, whatever is ready besides.
struct ReadyTasks {
    private struct Line {
        let key: QueueKey
        /// How many more of its tasks the worker may get.
        var share: Int
        /// How many rows are read next.
        var batch: Int
        /// Read and not handed out yet, the next one last.
        var rows: [TaskRow] = []
        /// How many in front of those stay in the queue, as they cannot be read.
        var unreadable = 0
    }

    private let tasks: TaskStore
    private let now: Timestamp
    /// The queues that the worker may get a task of; none is empty, but for that of the last task.
    private var lines: [Line]
    /// Which line the last task was of.
    private var last: Int?

    /// How many rows are read first, of all queues together, and at least one of each.
    private static let readFirst = 64

    /// Reads the first tasks of `queues`: each once, with how many of its tasks the worker may get.
    ///
    /// Where the first task of all is of a queue without a share, the worker may get that one.
    init(_ tasks: TaskStore, of queues: [(key: QueueKey, share: Int)], at now: Timestamp) throws {
        self.tasks = tasks
        self.now = now
        let batch = max(1, Self.readFirst / max(1, queues.count))
        lines = queues.map { Line(key: $0.key, share: $0.share, batch: batch) }
        for index in lines.indices { try read(index) }
        lines.removeAll { $0.rows.isEmpty }
        if let first, lines[first].share == 0 { lines[first].share = 1 }
        lines.removeAll { $0.share == 0 }
    }

    /// The next task, with its words; nil where the worker gets no more.
    ///
    /// The one before has been handed out by then.
    mutating func next() throws -> (task: TaskRow, words: TaskWords)? {
        while true {
            try refill()
            guard let index = first else { return nil }
            last = index
            let task = lines[index].rows.removeLast()
            if let words = try tasks.words(of: task) {
                lines[index].share -= 1
                return (task, words)
            }
            lines[index].unreadable += 1
        }
    }

    /// Reads more of the line of the last task, or drops the line.
    private mutating func refill() throws {
        guard let index = last else { return }
        last = nil
        if lines[index].rows.isEmpty, lines[index].share > 0 { try read(index) }
        if lines[index].rows.isEmpty || lines[index].share == 0 { lines.remove(at: index) }
    }

    private mutating func read(_ index: Int) throws {
        let line = lines[index]
        // Behind many that cannot be read as many are read as these are: all rows twice at most.
        let count = max(1, min(line.batch, max(line.share, line.unreadable)))
        // Those that were handed out are ready no more.
        let rows = try tasks.ready(line.key, limit: line.unreadable + count, at: now)
        lines[index].rows = rows.dropFirst(line.unreadable).reversed()
        lines[index].batch *= 2
    }

    /// The line whose next task is before those of the others.
    private var first: Int? {
        lines.indices.min { one, other in
            guard let one = lines[one].rows.last, let other = lines[other].rows.last else {
                return false
            }
            return one.isBefore(other)
        }
    }
}

extension TaskRow {
    /// Whether it is handed out before another: as it has a higher priority, or is ready longer.
    fileprivate func isBefore(_ other: TaskRow) -> Bool {
        (other.priority, readyAt, fire.rawValue) < (priority, other.readyAt, other.fire.rawValue)
    }
}

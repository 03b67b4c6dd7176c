// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The queues that one write has looked at for workers: each is read once, and again once a task of it was handed out.
///
/// So it does not matter how many workers wait for the same queues.
struct QueueLooks {
    private let queues: QueueStore
    /// As they stand; nil for one without a row.
    private var rows: [QueueKey: QueueRow?] = [:]
    /// How often it has looked into the store.
    private(set) var count = 0

    init(_ queues: QueueStore) { self.queues = queues }

    mutating func queue(_ key: QueueKey) throws -> QueueRow? {
        if let known = rows[key] { return known }
        count += 1
        let row = try queues.queue(key)
        rows.updateValue(row, forKey: key)
        return row
    }

    /// The first tasks of so many queues have been read as well.
    mutating func noteTasks(of queues: Int) { count += queues }

    /// A task of the queue was handed out.
    mutating func forget(_ key: QueueKey) { rows.removeValue(forKey: key) }
}
